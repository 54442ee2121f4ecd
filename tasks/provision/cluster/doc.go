// Package cluster deploys model servers on a Kubernetes cluster, waits until they are ready, stores their logs and
// events, and deletes them until nothing is left. It also creates Jobs for tasks there (see package away, which lists
// the permissions for that). Of the task packages only this one imports client-go. It must not connect to the model
// servers themselves, and it must not know the experiment file.
//
// Its client is not that of the command line (internal/kube), because its image would grow: on linux/amd64, stripped,
// the binary of provision has 15.8 MB; with that client it would have 27.5 MB, and with the reflector of client-go in
// place of the list and watch in follow.go 16.1 MB.
//
// Everything it creates has contract.LabelRun and contract.LabelRelease: the objects of a run are found by that
// selector, never by name. Permissions that it needs:
//
//	resource                          verbs
//	deployments.apps                  create list watch delete
//	replicasets.apps                  list            (diagnostics)
//	pods                              list watch      (progress; until they are gone)
//	pods/log                          get             (diagnostics)
//	events                            list            (diagnostics)
//	services                          create list delete
//	services/proxy                    get             (remote targets: does the right model answer; last metrics)
//	configmaps                        create patch    (the summary of a run)
//	persistentvolumeclaims            create list delete        (claims that the file creates; always listed)
//	jobs.batch                        list watch delete           (an orphaned task)
//	pipelineruns.tekton.dev           get             (on the hub: whether the run is admitted)
//	namespaces                        get             (on the hub, its own: whether runs may start without a queue)
//	nodes, cluster-wide               list            (optional: detects at once that no node can ever fit)
package cluster
