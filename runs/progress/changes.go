package progress

import "bflow.dev/bflow/pipelines/local"

// Changes are the transitions since the last look, as the executor would have told them; shown holds the states
// of tasks at that look, and is brought up to date.
func Changes(status local.Status, shown map[string]local.State) []local.Record {
	var out []local.Record
	for _, t := range status.Tasks {
		before := shown[t.Name]
		if t.State == before || t.State == local.Running && t.Started.IsZero() {
			continue
		}
		shown[t.Name] = t.State
		if !t.Started.IsZero() && before != local.Running { // it begins once: what was shown of it would be forgotten
			out = append(out, local.Record{Kind: local.TaskStarted, Task: t.Name, Time: t.Started})
		}
		if t.State.Done() && t.State != local.Skipped {
			out = append(out, local.Record{
				Kind: local.TaskFinished, Task: t.Name, Step: t.Step, Time: t.Finished,
				State: t.State, Message: t.Message,
			})
		}
	}
	return out
}
