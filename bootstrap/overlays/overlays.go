// Package overlays holds what bflow puts into a cluster as the kustomize folders that a person would patch: base and
// runs, target (for clusters of a remote hub), the overlays vanilla, openshift, air-gapped and dev, and components. It holds no code that renders them.
package overlays

import "embed"

// FS is every kustomize folder below this one. "kustomize build overlays/vanilla" reads the same files from disk.
//
//go:embed base runs target vanilla openshift air-gapped dev components
var FS embed.FS
