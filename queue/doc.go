// Package queue integrates PipelineRuns of bflow with Kueue as a job type: a run is pending until its devices are
// free, starts on admission with access to its target, and holds its quota until all its objects there are deleted.
// Only this package imports Kueue's job framework, whose interface changes between minor versions. queue/run judges
// the state of a run, queue/release releases its devices, queue/waiting explains why it waits, queue/aside parks runs
// that are too large, queue/stuck ends runs whose tasks cannot be scheduled, and queue/token provides tokens for
// tasks that submit runs.
//
// Permissions that the controller needs, as the account contract.AccountController:
//
//	in namespaces of runs
//	  tekton.dev         pipelineruns                    get list watch patch create   (create: a further attempt)
//	  tekton.dev         taskruns                        get list watch patch create delete
//	  ""                 pods                            list watch delete
//	  ""                 services                        list delete
//	  ""                 configmaps persistentvolumeclaims list delete
//	  apps               deployments                     list delete
//	  ""                 secrets                         create delete   (never read: names are known)
//	  ""                 serviceaccounts/token           create          (of contract.AccountSubmit only)
//	  ""                 serviceaccounts                 get
//	in the cluster
//	  kueue.x-k8s.io     workloads                       get list watch create update patch delete
//	  kueue.x-k8s.io     workloads/status                get update patch
//	  kueue.x-k8s.io     workloads/finalizers            update
//	  kueue.x-k8s.io     resourceflavors                 get list watch patch   (patch: bflow.dev/dirty)
//	  kueue.x-k8s.io     localqueues clusterqueues       get list watch
//	  kueue.x-k8s.io     workloadpriorityclasses         get list watch
//	  scheduling.k8s.io  priorityclasses                 get list watch
//	  ""                 namespaces                      get list watch
//	  events.k8s.io      events                          create patch
//	in its own namespace
//	  coordination.k8s.io leases                         get create update
//	  ""                 secrets                         list watch patch   (credentials of targets; patch: the next token)
//	  ""                 secrets                         create delete      (what tokens for Prometheus are bound to)
//	  ""                 configmaps                      create patch       (what is seen of each target)
//	  ""                 serviceaccounts/token           create             (of contract.AccountMetrics only)
//
// Owner references with blockOwnerDeletion also need pipelineruns/finalizers update where that admission plugin is on
// (OpenShift). The packages queue/capacity, queue/check and queue/matrix need more, which they say themselves.
package queue
