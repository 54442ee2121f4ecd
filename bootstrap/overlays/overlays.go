// Package overlays holds the manifests of bflow as kustomize folders that people can patch: base and runs, target
// (for clusters of a remote hub), the overlays vanilla, openshift, air-gapped and dev, and components. It contains no
// code that renders them.
package overlays

import "embed"

// FS is every kustomize folder below this one. "kustomize build overlays/vanilla" reads the same files from disk.
//
//go:embed base runs target vanilla openshift air-gapped dev components
var FS embed.FS
