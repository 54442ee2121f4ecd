package guidellm

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/runplan"
)

// TestWhatIsLeftOutIsSaidInTheWordsOfTheTool, whose model takes five modes and refuses a report with another one.
func TestWhatIsLeftOutIsSaidInTheWordsOfTheTool(t *testing.T) {
	modes := []string{"duration", "requests", "prefer_duration", "prefer_requests", "both"}
	for name, trimmed := range map[string]runplan.Trim{
		"nothing": {}, "a share": {Share: .1}, "seconds": {Duration: runplan.Duration(2 * time.Second)},
		"requests": {Requests: 7},
	} {
		t.Run(name, func(t *testing.T) {
			out := trim(trimmed)
			if !slices.Contains(modes, out.Mode) {
				t.Errorf("mode %q is none of %q", out.Mode, modes)
			}
			text, err := json.Marshal(out)
			if err != nil {
				t.Fatal(err)
			}
			var read trim2
			if err := json.Unmarshal(text, &read); err != nil || read.trim() != trimmed {
				t.Errorf("%+v is read back as %+v, %v", trimmed, read.trim(), err)
			}
		})
	}
}

func TestTheGenerationThatKnowsNoShareIsToldSecondsOrRequests(t *testing.T) {
	counted := runplan.Stage{Requests: 100}
	timed := runplan.Stage{Duration: runplan.Duration(30 * time.Second), Requests: 100}
	for _, row := range []struct {
		name     string
		stage    runplan.Stage
		trim     runplan.Trim
		requests *int
		seconds  *float64
	}{
		{"a share of a duration", timed, runplan.Trim{Share: .1}, nil, new(3.0)},
		{"a share of requests", counted, runplan.Trim{Share: .1}, new(10), nil},
		{"seconds", timed, runplan.Trim{Duration: runplan.Duration(time.Second)}, nil, new(1.0)},
		{"requests", timed, runplan.Trim{Requests: 5}, new(5), nil},
		{"nothing", timed, runplan.Trim{}, nil, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := args031{}
			got.WarmupNumber, got.WarmupDuration = trim031(row.stage, row.trim)
			want := args031{WarmupNumber: row.requests, WarmupDuration: row.seconds}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRowsAreChosenInEachStatus(t *testing.T) {
	extras, err := tools.NewFree(map[string]string{"team": "search"})
	if err != nil {
		t.Fatal(err)
	}
	run := tools.Run{Choices: tools.Choices{Rows: 2, Extras: extras}}
	three := tools.StreamOf([]row2{{ID: "a"}, {ID: "b"}, {ID: "c"}})
	b := benchmark2{Requests: requests2{Successful: three, Errored: tools.StreamOf([]row2{{ID: "d"}})}}
	b.choose(run)
	if n := *b.Config.SampleSize; n != 2 || ids(t, b.Requests.Successful) != "ab" || ids(t, b.Requests.Errored) != "d" ||
		b.Requests.Incomplete != nil || string(b.Extras["team"]) != `"search"` {
		t.Errorf("of %d: %q, %q; extras %s", n, ids(t, b.Requests.Successful), ids(t, b.Requests.Errored), b.Extras)
	}
	old := benchmark031{Extras: tools.FreeTexts(map[string]string{"old": "1", "team": "?"})}
	old.choose(run)
	if string(old.Extras["team"]) != `"search"` || string(old.Extras["old"]) != `"1"` {
		t.Errorf("extras %s", old.Extras)
	}
}

func ids(t *testing.T, of tools.Stream[row2]) (all string) {
	t.Helper()
	for r, err := range of(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all += r.ID
	}
	return all
}
