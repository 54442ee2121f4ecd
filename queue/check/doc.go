// Package check decides, for a run that Kueue has reserved quota for, whether its target can take it now: its API server
// answers, nothing of earlier runs is in doubt there, and enough single nodes have the devices free that its pods need.
// It is Kueue's AdmissionCheck controller "bflow.dev/target".
//
// It speaks only while a run holds quota and was not let start: what is said later would evict a run that works.
package check
