package record

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
)

// drawn is an outcome with every fate that a request can have.
func drawn(rng *rand.Rand, o *Outcome, i int64) {
	typical(o, i)
	o.Kernel, o.Retries, o.Adapter = rng.IntN(3) > 0, int64(rng.IntN(2)), int64(rng.IntN(3))-1
	o.Intended = i*1_000_000 + rng.Int64N(900_000)
	move := o.Intended + rng.Int64N(500_000) - o.Send
	for _, p := range o.stamps() {
		*p += move
	}
	for range rng.IntN(20) {
		o.Token(o.Last+rng.Int64N(30_000_000), 1+rng.Int64N(3)*rng.Int64N(2))
	}
	o.End = o.Last + rng.Int64N(1_000_000)
	o.Out = o.Streamed() + rng.Int64N(2)
	o.Cached = rng.Int64N(o.In+1) - 1
	switch rng.IntN(12) {
	case 0:
		o.Status, o.Class, o.Error = report.StatusFailed, report.ErrHTTP5xx, "it is \"broken\""
		o.First, o.Content, o.Last = Absent, Absent, Absent
		o.Out, o.Gaps, o.Tokens = Absent, o.Gaps[:0], o.Tokens[:0]
	case 1:
		o.Status, o.End = report.StatusCut, Absent
	case 2:
		intended := o.Intended
		o.Reset()
		o.Session, o.Intended, o.Status = i, intended, report.StatusDropped
	case 3:
		o.TokenSource, o.TokensAssumed, o.Pod = "events", true, "pod-b"
	}
}

func wholeStage(anchor int64) *Stage {
	second := int64(1e9)
	return &Stage{Plan: runplan.Stage{Name: "s", Measure: true, Shape: runplan.ShapeOpen, Rate: 1000,
		SkipFirst: runplan.Trim{Requests: 100},
		SkipLast:  runplan.Trim{Duration: runplan.Duration(second / 2)}}, Sample: 1, Index: 2, Rate: 1000,
		Start: 0, End: 3 * second,
		WindowEnd: 3 * second, DrainEnd: 4 * second, AnchorUnixNS: anchor, Adapters: []string{"a", "b"},
		Objectives: &runplan.Goodput{
			TTFT: runplan.Duration(300 * time.Microsecond), E2E: runplan.Duration(100 * time.Millisecond)}}
}

// writeShard writes the measurement directory of one shard and returns it.
func writeShard(t *testing.T, outcomes []Outcome, in *Stage) (string, *Summary) {
	t.Helper()
	dir := t.TempDir()
	s := spillOf(t, dir, int64(len(outcomes)), func(o *Outcome, i int64) { *o = outcomes[i] })
	out := outputsIn(t, dir)
	sum, err := Summarize(s, in, out)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	sum.Result.Ended = "duration"
	sum.Result.Client = report.Client{CPUSeconds: 1, MaxGCPauseMS: 2}
	must(out.Rows.Finish(report.Header{
		AnchorUnixNS: in.AnchorUnixNS, Run: "r", Clock: Clock(sum.Kernel, sum.User),
		TokenCountSource: Source(sum.SourceCounts),
	}))
	must(out.Values.Close())
	must(report.AppendStage(filepath.Join(dir, contract.FileStages), &sum.Result))
	must(report.AppendStage(filepath.Join(dir, contract.FileStages), &report.StageResult{
		Sample: 1, Stage: 3, Ended: "skipped",
	}))
	must(durable.WriteJSON(filepath.Join(dir, contract.FileLoadGen), report.LoadGen{
		Schema: report.LoadGenSchema, StartNS: in.AnchorUnixNS, Complete: true,
	}))
	must(s.Keep(dir, in))
	return dir, sum
}

func TestMergedShardsAreTheUndividedLoad(t *testing.T) {
	for _, shards := range []int{1, 2, 5} {
		rng := rand.New(rand.NewPCG(7, uint64(shards)))
		all := make([]Outcome, 3500)
		for i := range all {
			drawn(rng, &all[i], int64(i))
		}
		const anchor = 1_700_000_000_000_000_000
		whole, want := writeShard(t, all, wholeStage(anchor))
		parts, dirs := make([][]Outcome, shards), []string{}
		for i := range all {
			parts[i%shards] = append(parts[i%shards], all[i])
		}
		for i, part := range parts {
			d := int64(i) * 123_456_789 // each shard counts from an anchor of its own
			in := wholeStage(anchor + d)
			in.Start, in.End = in.Start-d, in.End-d
			in.WindowEnd, in.DrainEnd = in.WindowEnd-d, in.DrainEnd-d
			for j := range part {
				part[j].move(-d)
			}
			dir, _ := writeShard(t, part, in)
			dirs = append(dirs, dir)
		}
		out := filepath.Join(t.TempDir(), "merged")
		if err := Merge(out, dirs, runplan.Record{Slice: runplan.Duration(time.Second), Parquet: true}, nil); err != nil {
			t.Fatal(err)
		}
		compare(t, out, whole, want, shards)
	}
}

func compare(t *testing.T, out, whole string, want *Summary, shards int) {
	t.Helper()
	slices, err := report.ReadSlices(filepath.Join(out, report.FileSlices))
	if err != nil || len(slices) != 4 || slices[1].Requests != 1000 {
		t.Errorf("%d slices: %v", len(slices), err)
	}
	near := cmpopts.EquateApprox(1e-9, 1e-9)
	results, err := report.ReadStages(filepath.Join(out, contract.FileStages))
	if err != nil || len(results) != 2 || results[1].Ended != "skipped" {
		t.Fatalf("%d stages: %v", len(results), err)
	}
	wanted, err := report.ReadStages(filepath.Join(whole, contract.FileStages))
	if err != nil {
		t.Fatal(err)
	}
	wanted[0].Client.CPUSeconds = float64(shards)
	if diff := cmp.Diff(wanted[0], results[0], near); diff != "" {
		t.Errorf("%d shards, stage (-undivided +merged):\n%s", shards, diff)
	}
	h1, rows1, err1 := report.ReadRows(filepath.Join(whole, contract.FileRequests))
	h2, rows2, err2 := report.ReadRows(filepath.Join(out, contract.FileRequests))
	if err1 != nil || err2 != nil || cmp.Diff(h1, h2) != "" {
		t.Errorf("headers %+v and %+v: %v %v", h1, h2, err1, err2)
	}
	if !reflect.DeepEqual(rows1, rows2) { // cmp takes seconds for thousands of rows
		t.Errorf("%d shards, rows (-undivided +merged):\n%s", shards, cmp.Diff(rows1, rows2))
	}
	values1, err1 := report.ReadHistograms(filepath.Join(whole, contract.FileHistograms))
	values2, err2 := report.ReadHistograms(filepath.Join(out, contract.FileHistograms))
	if err1 != nil || err2 != nil || len(values1) != len(values2) || len(values1) < 15 {
		t.Fatalf("%d and %d distributions: %v %v", len(values1), len(values2), err1, err2)
	}
	for key, d := range values1 {
		a, _ := d.Metric()
		b, _ := values2[key].Metric()
		if diff := cmp.Diff(a, b, near); diff != "" {
			t.Errorf("%v (-undivided +merged):\n%s", key, diff)
		}
	}
	if left, _ := os.ReadDir(out); len(left) != 6 {
		t.Errorf("files %v", left)
	}
}

func TestWhatIsNotOfOneLoadIsNotMerged(t *testing.T) {
	if err := Merge(t.TempDir(), nil, runplan.Record{}, nil); err == nil {
		t.Error("no shards were merged")
	}
	if err := Merge(t.TempDir(), []string{t.TempDir()}, runplan.Record{}, nil); err == nil {
		t.Error("an empty directory was merged")
	}
}
