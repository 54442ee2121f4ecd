package resolve

import (
	"strings"
	"testing"

	"bflow.dev/bflow/generator/plan"
	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

const experiment = `
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: small}
spec:
  model: {name: acme/tiny}
  deployment_profile: sim
  load: {data: {input: 16, output: 4}, stages: [{rate: 10, duration: 2s}]}
`

func load(t *testing.T, text string, set ...string) Input {
	t.Helper()
	in, found := Load(t.Context(), spec.Options{Set: set}, strings.NewReader(text), "-")
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return in
}

func TestAnExperimentBecomesPlans(t *testing.T) {
	in := load(t, experiment, "model.name=[acme/tiny, acme/small]")
	var said strings.Builder
	all, err := in.Expand(&said, plan.Options{MaxPoints: plan.DefaultMaxPoints, Version: "v1"}, "small.yaml")
	if err != nil {
		t.Fatal(err)
	}
	plans, err := in.Collect(all)
	if err != nil || len(plans) != 2 || plans[0].Experiment != "small" || plans[0].Hash == plans[1].Hash {
		t.Errorf("%v, %v", plans, err)
	}
}

func TestTheSumIsThatOfTheTextAndOfWhatIsSet(t *testing.T) {
	plain, same, set := load(t, experiment), load(t, experiment), load(t, experiment, "load.stages[0].rate=20")
	if plain.Sum != same.Sum || plain.Sum == set.Sum || !strings.HasPrefix(plain.Sum, "sha256:") {
		t.Errorf("%s, %s, %s", plain.Sum, same.Sum, set.Sum)
	}
}

func TestAFileWithoutAnExperimentIsAnErrorOfUsage(t *testing.T) {
	in := load(t, "apiVersion: bflow.dev/v1alpha1\nkind: BenchmarkProfile\nmetadata: {name: quick}\n"+
		"spec: {load: {data: {input: 8, output: 8}, stages: [{rate: 1, duration: 1s}]}}\n")
	_, err := in.Expand(new(strings.Builder), plan.Options{MaxPoints: 1}, "quick.yaml")
	if step.Code(err) != contract.ExitUsage ||
		!strings.Contains(err.Error(), "planning quick.yaml: it contains no document of kind Experiment") {
		t.Errorf("%v, exit code %d", err, step.Code(err))
	}
}

func TestProblemsArePrintedOnce(t *testing.T) {
	var list problem.List
	for range 2 { // an experiment is read for its axes and for its points
		list.Add(problem.Problem{File: "x.yaml", Text: "it is odd", Warning: true})
	}
	var said strings.Builder
	if err := PrintProblems(&said, list); err != nil || strings.Count(said.String(), "it is odd") != 1 ||
		!strings.HasPrefix(said.String(), "warning: ") {
		t.Errorf("%v: %q", err, said.String())
	}
	list.Add(problem.Problem{File: "x.yaml", Text: "it is wrong"})
	if err := PrintProblems(&said, list); step.Code(err) != contract.ExitUsage {
		t.Errorf("%v, exit code %d", err, step.Code(err))
	}
}

func TestAPlanThatIsMovedHasTheHashOfItsExperiment(t *testing.T) {
	in := load(t, strings.Replace(experiment, "profile: sim", "profile: rhaiis-raw-vllm", 1), "stages.collect=false",
		"overrides.images.runtime=acme/server:v1")
	all, err := in.Expand(new(strings.Builder), plan.Options{MaxPoints: 1, Version: "v1"}, "small.yaml")
	if err != nil {
		t.Fatal(err)
	}
	made, err := in.Collect(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, hash string }{
		{"as it was made", made[0].Hash},
		{"without a hash", ""},
		{"changed since it had its hash", strings.Repeat("0", 64)},
	} {
		moved := &spec.RunPlan{Plan: *made[0]}
		moved.Plan.Hash, moved.Plan.Digest = row.hash, ""
		in := Input{Set: &spec.Set{RunPlans: []*spec.RunPlan{moved}}}
		if _, err := in.Expand(new(strings.Builder), plan.Options{Namespace: "lab"}, "plan.yaml"); err != nil {
			t.Fatal(err)
		}
		got := &moved.Plan
		if got.Hash != made[0].Hash || runplan.Verify(got) != nil || got.Target.Namespace != "lab" {
			t.Errorf("%s: hash %q, want %q", row.name, got.Hash, made[0].Hash)
		}
	}
}
