package assemble

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

// TestAnotherReplicaIsNoRestart reads before and after stages of 10 s, the first of which begins at 1000 s.
func TestAnotherReplicaIsNoRestart(t *testing.T) {
	type look struct {
		at, born, tokens float64
		name             string // of what tells when it was born
	}
	const started, created = "process_start_time_seconds", "vllm:request_success_created"
	for _, row := range []struct {
		name    string
		engines int
		looks   []look // before and after each stage
		want    []error
	}{
		{name: "one engine counts", engines: 1, looks: []look{{1000, 100, 5, started}, {1010, 100, 9, started}},
			want: []error{nil}},
		{name: "one engine starts again, its clock is behind", engines: 1,
			looks: []look{{1000, 100, 5, started}, {1010, 900, 9, started}}, want: []error{errRestart}},
		{name: "two replicas, the same one twice", engines: 2,
			looks: []look{{1000, 100, 5, started}, {1010, 100, 9, started}}, want: []error{nil}},
		{name: "two replicas, first the one and then the other", engines: 2,
			looks: []look{{1000, 100, 5, started}, {1010, 101, 3, started}}, want: []error{errReplicas}},
		{name: "two replicas, and the other counted more", engines: 2,
			looks: []look{{1000, 100, 5, started}, {1010, 101, 9, started}}, want: []error{errReplicas}},
		{name: "two replicas, one of which starts again", engines: 2,
			looks: []look{{1000, 100, 5, started}, {1010, 1005, 3, started}}, want: []error{errRestart}},
		{name: "two replicas, one of which starts again and is read a stage later", engines: 2,
			looks: []look{{1000, 100, 5, started}, {1010, 100, 9, started}, {1020, 1005, 1, started},
				{1030, 1005, 2, started}}, want: []error{errRestart, nil}},
		{name: "two replicas whose counters fall although it is the same one", engines: 2,
			looks: []look{{1000, 100, 5, started}, {1010, 100, 3, started}}, want: []error{errRestart}},
		{name: "two replicas that say when they made their metrics", engines: 2,
			looks: []look{{1000, 100, 5, created}, {1010, 101, 3, created}}, want: []error{errReplicas}},
		{name: "two replicas that say nothing", engines: 2, looks: []look{{1000, 0, 5, ""}, {1010, 0, 3, ""}},
			want: []error{errReplicas}},
		{name: "an address with replicas behind it", looks: []look{{1000, 100, 5, started}, {1010, 101, 3, started}},
			want: []error{errReplicas}},
		{name: "an address whose engine starts again", looks: []look{{1000, 100, 5, started}, {1010, 1005, 3, started}},
			want: []error{errRestart}},
		{name: "an address whose engine says nothing and counts less",
			looks: []look{{1000, 0, 5, ""}, {1010, 0, 3, ""}}, want: []error{errRestart}},
		{name: "an address whose engine says nothing and counts", looks: []look{{1000, 0, 5, ""}, {1010, 0, 9, ""}},
			want: []error{nil}},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			var scrapes []report.Scrape
			for i, l := range row.looks {
				text := fmt.Sprintf("vllm:generation_tokens_total %v\n", l.tokens)
				if l.name != "" {
					text += fmt.Sprintf("%s %v\n", l.name, l.born)
				}
				s := report.Scrape{
					Stage: i / 2, When: []string{"before", "after"}[i%2],
					UnixNS: int64(l.at * 1e9), File: fmt.Sprint(i),
				}
				if err := os.WriteFile(filepath.Join(dir, s.File), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				scrapes = append(scrapes, s)
			}
			got := differences(dir, scrapes, row.engines)
			for stage, want := range row.want {
				d := got[stageKey{0, stage}]
				if !errors.Is(d.err, want) || d.restarted != errors.Is(want, errRestart) || (len(d.counters) > 0) != (want == nil) {
					t.Errorf("stage %d: restarted %t, counters %v, error %v, want %v", stage, d.restarted, d.counters, d.err, want)
				}
			}
		})
	}
}

func TestHowManyEnginesMayAnswer(t *testing.T) {
	for _, row := range []struct {
		name string
		d    runplan.Deployment
		want int
	}{
		{name: "one that we made", d: runplan.Deployment{Replicas: 1}, want: 1},
		{name: "a plan that says nothing of replicas", want: 1},
		{name: "three that we made", d: runplan.Deployment{Replicas: 3}, want: 3},
		{name: "behind an address that was there nobody knows",
			d: runplan.Deployment{Replicas: 1, Endpoint: &runplan.Endpoint{}}, want: 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := enginesOf(&row.d); got != row.want {
				t.Errorf("%d engines, want %d", got, row.want)
			}
		})
	}
}
