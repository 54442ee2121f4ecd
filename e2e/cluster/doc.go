// Package cluster tries bflow on a real Kubernetes with Tekton and Kueue, installed by bflow bootstrap: the tests need the
// build tag e2e and the variables below, which the script prepare prints (make e2e calls it; docs/e2e.md). It holds no
// product code, and a test asserts only what the API server, MLflow and bflow itself say.
//
//	BFLOW_E2E_KUBECONFIG  admin of a cluster where bflow bootstrap has run and nodes claim 8 nvidia.com/gpu
//	BFLOW_E2E_BIN         folder with bflow and its siblings, of the version whose images the cluster can pull
//	BFLOW_E2E_BUNDLE      REF@sha256:... of that version's bundle
//	BFLOW_E2E_LOCK        images.lock.yaml of that version
//
// These are of choice; what needs one that is not set is skipped with a sentence:
//
//	BFLOW_E2E_TKN              path of tkn
//	BFLOW_E2E_MLFLOW           URL of a tracking server that this host and pods reach
//	BFLOW_E2E_HOST             address of this host as pods reach it: a git server of the tests listens there
//	BFLOW_E2E_AUDIT            audit log of the API server, of these tests alone: rights granted are compared with rights used
//	BFLOW_E2E_BARE_KUBECONFIG  a cluster without Tekton and Kueue that may be filled and emptied, with BFLOW_E2E_BOOTSTRAP_FLAGS
//	BFLOW_E2E_WORKER_KUBECONFIG  admin of a second cluster, without Tekton and Kueue, whose nodes claim 8 nvidia.com/gpu
//	BFLOW_E2E_WORKER_AUDIT       audit log of its API server
//	BFLOW_E2E_SECOND_KUBECONFIG  admin of a second cluster with bflow on it, another hub of the same worker
//	BFLOW_E2E_SECOND_AUDIT       audit log of its API server
//	BFLOW_E2E_BESIDE           how many runs tests that share a hub may have there at once
//	E2E_FAULT_CMD              program that hurts the cluster that FAULT_CLUSTER names: "restart COMPONENT", "stop COMPONENT SECONDS", "skew COMPONENT SECONDS", "cut SECONDS" off the network
//	BFLOW_SOAK_FOR             how long TestSoak lets things break; without it there is no soak
//	BFLOW_SOAK_SEED            seed of a soak that is to be played again
package cluster
