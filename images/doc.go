// Package images builds reproducible OCI images of bflow's own programs: an empty base, one static binary, no
// timestamps.
//
// Build writes an OCI layout, which can also be carried into a network without internet access; Push and Archive read
// it. The package knows platforms, layers and registries. It must not use Docker or a shell, and knows nothing of
// Tekton.
package images
