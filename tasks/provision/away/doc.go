// Package away carries a task out where the server under test runs: as a Job on a remote target, whose log, progress,
// exit code and files come back to the step that launched it, as if the task had run here.
//
// The Job is named by run, attempt, task and measurement, so that whoever launches it again finds the one that is there.
// The way to the target may be lost for a while (runplan.Outage). What the task does, and what its files mean, this
// package must not know, but for the result of a load that was cut short (lost.go).
//
// What it asks of the target's API server, and so of the Role of whoever runs it there, in the namespace of the run:
//
//	jobs.batch       create get list watch patch delete   (the task; patch lets it start)
//	configmaps       create                               (its plan)
//	secrets          create get                           (the token of its results server; read again by the next launcher)
//	pods             list watch
//	pods/log         get
//	pods/proxy       get create update                    (its files: read; told to end; sent)
//	events           list                                 (why it has no pod)
//
// and on the hub, in that of the TaskRun:
//
//	taskruns         get                                  (whether its pod ends because the run does)
package away
