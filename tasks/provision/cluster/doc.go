// Package cluster brings model servers up on a Kubernetes cluster, watches them become ready, keeps what they leave
// behind, and takes them away again until nothing is left; and it makes Jobs of tasks there (see package away, which says
// what that needs). It is the only package of the tasks that imports client-go.
// It must not talk to the model servers themselves, and it must not know the experiment file.
//
// Everything it makes carries contract.LabelRun and contract.LabelRelease, and "what was made for run X" is that
// selector, never a name. What it asks of the API server, and so of the Role of whoever runs it:
//
//	resource                          verbs
//	deployments.apps                  create list watch delete
//	replicasets.apps                  list            (diagnostics)
//	pods                              list watch      (progress; until they are gone)
//	pods/log                          get             (diagnostics)
//	events                            list            (diagnostics)
//	services                          create list delete
//	services/proxy                    get             (on a remote target: whether the right model answers; the last metrics)
//	configmaps                        create patch    (the summary of a run)
//	persistentvolumeclaims            create list delete        (claims that the file says to make; listed always)
//	jobs.batch                        list watch delete           (a task that was left behind)
//	pipelineruns.tekton.dev           get             (on the hub: whether the controller has let the run start)
//	namespaces                        get             (on the hub, its own: whether runs start without a queue there)
//	nodes, cluster-wide               list            (optional: tells at once that no node could ever fit)
package cluster
