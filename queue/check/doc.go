// Package check decides, for a run that Kueue has reserved quota for, whether its target can take it now: its API
// server answers, nothing of earlier runs is in doubt there, and enough single nodes have the devices free that its
// pods need. It is Kueue's AdmissionCheck controller "bflow.dev/target".
//
// It changes the state only while a run holds a reservation and is not admitted: a later change would evict a running
// run.
package check
