// Package cluster tests bflow on a real Kubernetes cluster with Tekton and Kueue, installed by bflow bootstrap. The
// tests need the build tag e2e and the variables below, which the script prepare prints (make e2e calls it;
// docs/e2e.md). It holds no product code, and a test asserts only what the API server, MLflow and bflow report.
//
//	BFLOW_E2E_KUBECONFIG  admin of a cluster where bflow bootstrap has run and nodes claim 8 nvidia.com/gpu
//	BFLOW_E2E_BIN         folder with bflow and its siblings, of the version whose images the cluster can pull
//	BFLOW_E2E_BUNDLE      REF@sha256:... of that version's bundle
//	BFLOW_E2E_LOCK        images.lock.yaml of that version
//
// These are optional; a test that needs one that is not set is skipped with a message:
//
//	BFLOW_E2E_TKN              path of tkn
//	BFLOW_E2E_MLFLOW           URL of a tracking server that this machine and pods can reach
//	BFLOW_E2E_HOST             address of this machine for pods: a git server of the tests listens there
//	BFLOW_E2E_AUDIT            audit log of the API server, used by these tests alone: granted permissions are
//	                           compared with used ones
//	BFLOW_E2E_BARE_KUBECONFIG  a cluster without Tekton and Kueue to install on and uninstall from, with
//	                           BFLOW_E2E_BOOTSTRAP_FLAGS
//	BFLOW_E2E_WORKER_KUBECONFIG  admin of a second cluster, without Tekton and Kueue, whose nodes claim 8 nvidia.com/gpu
//	BFLOW_E2E_WORKER_AUDIT       audit log of its API server
//	BFLOW_E2E_SECOND_KUBECONFIG  admin of a second cluster with bflow on it, another hub of the same worker
//	BFLOW_E2E_SECOND_AUDIT       audit log of its API server
//	BFLOW_E2E_PICKER             image of an endpoint picker of the Gateway API Inference Extension v1.5.0 that
//	                             starts without a pool (internal/tools/epp)
//	BFLOW_E2E_LLMD_SIM           image of llm-d-inference-sim v0.10.2 (internal/tools/llmdsim)
//	BFLOW_E2E_PROXY              image of Envoy
//	BFLOW_E2E_BESIDE           how many runs the tests that share a hub may have at the same time
//	E2E_FAULT_CMD              program that injects faults into the cluster FAULT_CLUSTER: "restart COMPONENT",
//	                           "stop COMPONENT SECONDS", "skew COMPONENT SECONDS", "cut SECONDS" off the network
//	BFLOW_SOAK_FOR             how long TestSoak injects faults; without it TestSoak is skipped
//	BFLOW_SOAK_SEED            seed of a soak to replay
package cluster
