// Package cluster tries bflow on a real Kubernetes with Tekton and Kueue, installed by bflow bootstrap: the tests need the
// build tag e2e and the variables below. It holds no product code, and a test asserts only what the API server says.
//
//	BFLOW_E2E_KUBECONFIG  admin of a cluster where bflow bootstrap has run and nodes claim at least 8 nvidia.com/gpu
//	BFLOW_E2E_BIN         folder with bflow and its siblings, of the version whose images the cluster can pull
//	BFLOW_E2E_BUNDLE      REF@sha256:... of that version's bundle
//	BFLOW_E2E_LOCK        images.lock.yaml of that version
//	BFLOW_E2E_TKN         path of tkn
package cluster
