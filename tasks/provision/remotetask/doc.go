// Package remotetask runs a task on a remote target, where the server under test runs: as a Job whose log, progress,
// exit code and files are returned to the step that launched it, as if the task had run there.
//
// The Job is named by run, attempt, task and measurement, so that a restarted launcher finds it again. The target may
// be unreachable for a while (runplan.Outage). This package must not know what the task does or what its files mean,
// except for the result of a load that was interrupted (lost.go).
//
// Permissions that it needs on the target, in the namespace of the run:
//
//	jobs.batch       create get list watch patch delete   (the task; patch starts it)
//	configmaps       create                               (its plan)
//	secrets          create get                           (the token of its results server; get: the next launcher)
//	pods             list watch
//	pods/log         get
//	pods/proxy       get create update                    (its files: read and write; the request to end)
//	events           list                                 (the reason for a missing pod)
//
// and on the hub, in the namespace of the TaskRun:
//
//	taskruns         get                                  (whether its pod ends because the run ends)
package remotetask
