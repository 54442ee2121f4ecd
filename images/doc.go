// Package images turns bflow's own programs into reproducible OCI images: an empty base, one static binary, no clock.
//
// Build writes them as an OCI layout, which is also what travels into a network without internet; Push and Archive read
// it. The package knows platforms, layers and registries. It must hold no Docker and no shell, and nothing of Tekton.
package images
