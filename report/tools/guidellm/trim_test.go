package guidellm

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"bflow.dev/bflow/runplan"
)

// TestWhatIsLeftOutIsSaidInTheWordsOfTheTool, whose model takes five modes and refuses a report with another one.
func TestWhatIsLeftOutIsSaidInTheWordsOfTheTool(t *testing.T) {
	modes := []string{"duration", "requests", "prefer_duration", "prefer_requests", "both"}
	for name, trimmed := range map[string]runplan.Trim{
		"nothing": {}, "a share": {Share: .1}, "seconds": {Duration: runplan.Duration(2 * time.Second)}, "requests": {Requests: 7},
	} {
		t.Run(name, func(t *testing.T) {
			out := trim(trimmed)
			if !slices.Contains(modes, out["mode"].(string)) {
				t.Errorf("mode %q is none of %q", out["mode"], modes)
			}
			text, err := json.Marshal(out)
			if err != nil {
				t.Fatal(err)
			}
			var read trimConfig
			if err := json.Unmarshal(text, &read); err != nil || read.trim() != trimmed {
				t.Errorf("%+v is read back as %+v, %v", trimmed, read.trim(), err)
			}
		})
	}
}

func TestTheGenerationThatKnowsNoShareIsToldSecondsOrRequests(t *testing.T) {
	timed, counted := runplan.Stage{Duration: runplan.Duration(30 * time.Second), Requests: 100}, runplan.Stage{Requests: 100}
	for _, row := range []struct {
		name              string
		stage             runplan.Stage
		trim              runplan.Trim
		requests, seconds any
	}{
		{"a share of a duration", timed, runplan.Trim{Share: .1}, nil, 3.0},
		{"a share of requests", counted, runplan.Trim{Share: .1}, 10, nil},
		{"seconds", timed, runplan.Trim{Duration: runplan.Duration(time.Second)}, nil, 1.0},
		{"requests", timed, runplan.Trim{Requests: 5}, 5, nil},
		{"nothing", timed, runplan.Trim{}, nil, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			if requests, seconds := trim031(row.stage, row.trim); requests != row.requests || seconds != row.seconds {
				t.Errorf("got %v requests, %v seconds; want %v, %v", requests, seconds, row.requests, row.seconds)
			}
		})
	}
}
