package metrics

// Names of everything the controller measures, beside what controller-runtime measures of itself. Rules and dashboards
// are written against this list.
const (
	Runs             = "bflow_runs"                        // gauge; labels state
	QueueWaitSeconds = "bflow_queue_wait_seconds"          // histogram; labels target
	ReleaseSeconds   = "bflow_release_seconds"             // histogram; labels target
	ForcedReleases   = "bflow_forced_releases_total"       // counter; labels target
	Leftovers        = "bflow_leftovers_deleted_total"     // counter; labels target, kind
	Attempts         = "bflow_attempts_total"              // counter; labels cause
	Unstartable      = "bflow_unstartable_runs_total"      // counter; labels none
	GPUs             = "bflow_gpus"                        // gauge; labels target, resource, state
	GPUSeconds       = "bflow_gpu_seconds_total"           // counter; labels target, resource, state
	AdmissionSeconds = "bflow_admission_seconds"           // histogram; labels target
	TargetReachable  = "bflow_target_reachable"            // gauge, 1 or 0; labels target
	TargetDirty      = "bflow_target_dirty"                // gauge, 1 or 0; labels target
	Leaked           = "bflow_leaked_objects"              // gauge; labels target
	ReasonWrites     = "bflow_waiting_reason_writes_total" // counter; labels none
)

// Values of label state of Runs.
const (
	StateQueued    = "queued"    // pending, waits for quota
	StateRunning   = "running"   // let start and not over
	StateStaying   = "staying"   // over, and its model server stays for a time
	StateReleasing = "releasing" // over, and something of it is still on its target
	StateDone      = "done"      // over and released, kept for its results
)

// Values of label state of GPUs, counted in devices.
const (
	GPUTotal   = "total"   // on nodes that are ready and schedulable
	GPUForeign = "foreign" // held by pods that are not ours
	GPUOurs    = "ours"    // held by pods of our runs
	GPULeaked  = "leaked"  // part of foreign: held by pods of runs of ours that have no right to them any more
)

// Values of label state of GPUSeconds: what runs hold devices for.
const (
	HoursProvisioning = "provisioning" // until the first load begins
	HoursMeasuring    = "measuring"    // while a load runs
	HoursIdle         = "idle"         // between loads, and after the last until they are given back
	HoursLeaked       = "leaked"       // held by pods of runs that have no right to them any more
)

// HoursStates are all values of label state of GPUSeconds.
func HoursStates() []string {
	return []string{HoursProvisioning, HoursMeasuring, HoursIdle, HoursLeaked}
}

// Help is what a name means, in one sentence.
func Help(name string) string {
	return map[string]string{
		Runs:             "PipelineRuns of bflow by state: queued, running, staying, releasing, done.",
		QueueWaitSeconds: "Time from the creation of a run to its start.",
		ReleaseSeconds:   "Time from the end of a run until all its objects were gone from its target.",
		ForcedReleases:   "Runs whose quota was returned by force, with objects of theirs left on the target.",
		Leftovers:        "Objects of ended runs that the controller deleted itself.",
		Attempts:         "Further attempts of runs that the controller made, by cause.",
		Unstartable:      "Admitted runs whose start the API server rejected for good.",
		GPUs:             "Devices of a target by state: total, foreign, ours, leaked.",
		GPUSeconds:       "Device-seconds that runs held, by use: provisioning, measuring, idle, leaked.",
		AdmissionSeconds: "Time from the reservation of quota for a run to its start.",
		TargetReachable:  "1 when the API server of the target answers.",
		TargetDirty:      "1 when a run that was released by force may still hold devices of the target.",
		Leaked:           "Orphaned objects that the janitor found on a target when it last looked.",
		ReasonWrites:     "Updates of the reason why a run waits.",
	}[name]
}
