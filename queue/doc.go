// Package queue makes a PipelineRun of bflow a job of Kueue: it waits pending until its devices are free, is let
// start with access to its target, and holds its quota until nothing of it is left there. This is the only package
// that imports Kueue's job framework, whose interface changes between minor versions. What a run is in which state is
// judged in queue/run, how it gives its devices back in queue/release, why it waits in queue/waiting, where it goes,
// and what becomes of it where it fits nowhere, in queue/placement, and which tasks get a token of the account that
// submits in queue/token.
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
//	  ""                 secrets                         list watch patch   (of targets; patch: the next token)
//	  ""                 secrets                         create delete      (what tokens for Prometheus are bound to)
//	  ""                 configmaps                      create patch       (what is seen of each target)
//	  ""                 serviceaccounts/token           create             (of contract.AccountMetrics only)
//
// Owner references with blockOwnerDeletion also need pipelineruns/finalizers update where that admission plugin is on
// (OpenShift). The packages queue/capacity, queue/check and queue/matrix need more, which they say themselves.
package queue
