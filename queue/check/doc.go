// Package check decides for a run with a quota reservation whether its target can take it now: the API server
// answers, nothing of earlier runs is in doubt there, and enough single nodes have the free devices that its pods
// need. It is the controller of Kueue's AdmissionCheck "bflow.dev/target".
//
// It changes the state only while a run holds a reservation and is not admitted: a later change would evict a running
// run.
package check
