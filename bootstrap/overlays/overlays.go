// Package overlays holds what bflow puts on a cluster as kustomize folders that people can patch: base and runs,
// target (for targets other than the hub), the overlays vanilla, openshift, air-gapped and dev, and components. It has
// no code that renders them.
package overlays

import "embed"

// FS is every kustomize folder below this one. "kustomize build overlays/vanilla" reads the same files from disk.
//
//go:embed base runs target vanilla openshift air-gapped dev components
var FS embed.FS
