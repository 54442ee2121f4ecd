package assemble_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/report/reporttest"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// built is the report of a run directory.
func built(t *testing.T, dir string) *report.Report {
	t.Helper()
	r, err := assemble.Report(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// stageNamed returns the pooled stage.
func stageNamed(t *testing.T, r *report.Report, name string) *report.Stage {
	t.Helper()
	for i := range r.Measurements[0].Pooled.Stages {
		if s := &r.Measurements[0].Pooled.Stages[i]; s.Planned.Name == name {
			return s
		}
	}
	t.Fatalf("no stage %q", name)
	return nil
}

func TestDamagedFilesAreFindings(t *testing.T) {
	for _, name := range []string{contract.FileLoadGen, contract.FileStages} {
		t.Run(name, func(t *testing.T) {
			dir := reporttest.Write(t, reporttest.Run{Length: 2 * time.Second})
			if err := os.WriteFile(filepath.Join(dir, "measurements/0", name), []byte("{\"schema\":"), 0o644); err != nil {
				t.Fatal(err)
			}
			r := built(t, dir)
			if r.Verdict.ExitCode != 1 || r.Measurements[0].Error == "" {
				t.Errorf("verdict %+v, error %q", r.Verdict, r.Measurements[0].Error)
			}
		})
	}
}

// TestARunWithoutLoadIsNotJudged: nothing of it is missing. One that should have measured is red.
func TestARunWithoutLoadIsNotJudged(t *testing.T) {
	dir := reporttest.Write(t, reporttest.Run{Length: 2 * time.Second})
	if err := os.RemoveAll(filepath.Join(dir, contract.DirMeasurement)); err != nil {
		t.Fatal(err)
	}
	if r := built(t, dir); r.Verdict.ExitCode != contract.ExitFail {
		t.Errorf("without its load: %+v", r.Verdict)
	}
	plan, err := runplan.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	plan.Execution.Phases.Benchmark = false
	if err := runplan.Identify(plan); err != nil {
		t.Fatal(err)
	}
	if err := durable.WriteJSON(filepath.Join(dir, contract.FilePlan), plan); err != nil {
		t.Fatal(err)
	}
	want := report.Verdict{Schema: report.VerdictSchema, Verdict: report.NotJudged,
		Reasons: []string{"nothing was measured: stages.benchmark is false"}, Gates: []report.Gate{},
		Validity: []report.Validity{}}
	if diff := cmp.Diff(want, built(t, dir).Verdict); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestALoadThatWasKilledIsNamed(t *testing.T) {
	dir := reporttest.Write(t, reporttest.Run{Length: 2 * time.Second})
	path := filepath.Join(dir, "measurements/0", contract.FileLoadGen)
	var load report.LoadGen
	if err := step.ReadJSON(path, &load); err != nil {
		t.Fatal(err)
	}
	load.Complete = false // as it is until the end
	if err := durable.WriteJSON(path, load); err != nil {
		t.Fatal(err)
	}
	r := built(t, dir)
	m := r.Measurements[0]
	if r.Verdict.ExitCode != contract.ExitFail || m.Error != report.Unfinished ||
		len(m.Pooled.Stages) == 0 || !m.Interrupted {
		t.Errorf("verdict %+v, error %q, %d stages", r.Verdict, m.Error, len(m.Pooled.Stages))
	}
}

func TestPooledEqualsAllSamplesTogether(t *testing.T) {
	dir := reporttest.Write(t, reporttest.Run{Samples: 3, Length: 4 * time.Second, Failing: 0.02})
	r := built(t, dir)
	pooled := stageNamed(t, r, "rate-40")
	whole := report.NewDistribution("ms")
	dists, err := report.ReadHistograms(filepath.Join(dir, "measurements/0", contract.FileHistograms))
	if err != nil {
		t.Fatal(err)
	}
	total, ok, done := 0, 0, 0.0
	for _, sample := range r.Measurements[0].Samples {
		s := sample.Stages[pooled.Stage]
		whole.Merge(dists[report.DistributionKey{Sample: sample.Sample, Stage: s.Stage, Metric: "ttft"}])
		total += s.Counts.Total
		ok += s.Counts.ByStatus[report.StatusOK]
		done += s.Rates["request_rate"] * s.WindowS
	}
	want, _ := whole.Metric()
	if diff := cmp.Diff(want, pooled.Metrics["ttft"]); diff != "" {
		t.Errorf("ttft over all samples: %s", diff)
	}
	if pooled.Counts.Total != total || pooled.Counts.ByStatus[report.StatusOK] != ok || pooled.WindowS != 12 {
		t.Errorf("counts %+v over %v s", pooled.Counts, pooled.WindowS)
	}
	if got := pooled.Rates["request_rate"]; got < done/12*0.999 || got > done/12*1.001 {
		t.Errorf("request rate %v, want %v", got, done/12)
	}
	if want := float64(total-ok) / float64(total); *pooled.ErrorRate != want {
		t.Errorf("error rate %v, want %v", *pooled.ErrorRate, want)
	}
}

func TestServerDifferences(t *testing.T) {
	dir := reporttest.Write(t, reporttest.Run{Length: 4 * time.Second, Samples: 2})
	r := built(t, dir)
	s := stageNamed(t, r, "rate-40")
	if s.Server == nil || s.Server.Error != "" {
		t.Fatalf("server %+v", s.Server)
	}
	n := float64(s.Counts.All)
	if got := s.Server.Counters["generation_tokens"]; got != n*40 {
		t.Errorf("the engine generated %v tokens, want %v", got, n*40)
	}
	ttft := s.Server.Histograms["ttft"]
	if ttft.N != n || ttft.MeanMS < s.Metrics["ttft"].Mean*0.999 || ttft.MeanMS > s.Metrics["ttft"].Mean*1.001 {
		t.Errorf("ttft of the engine %+v, of the client %+v", ttft, s.Metrics["ttft"])
	}
	if p50 := ttft.Quantiles["p50"]; p50 < 20 || p50 > 40 {
		t.Errorf("p50 %v lies outside of its bucket", p50)
	}
	names := map[string]bool{}
	for _, c := range s.Checks {
		names[c.Name] = c.OK
	}
	if !names["path_delay_ms"] || !names["server_token_gap"] {
		t.Errorf("checks %v", names)
	}
}
