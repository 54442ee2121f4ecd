package plan

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/runplan"
)

func TestAHundredThousandPointsAreWalkedWithoutHoldingThem(t *testing.T) {
	if testing.Short() {
		t.Skip("it plans for some seconds")
	}
	exp, cat := manyPoints(t, 100)
	m, problems := Expand(exp, cat, Options{MaxPoints: 100_000})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	if m.Len() != 100_000 {
		t.Fatalf("%d plans", m.Len())
	}
	n, last := 0, ""
	for plan, problems := range m.Plans() {
		if plan == nil {
			t.Fatal(problems)
		}
		if n++; n == 3000 {
			break
		}
		last = plan.Name
	}
	if last != "many-points-m2999" {
		t.Errorf("point 2999 is %q", last)
	}
}

func TestMorePointsThanAllowedNameTheFlag(t *testing.T) {
	exp, cat := manyPoints(t, 100)
	m, problems := Expand(exp, cat, Options{})
	if err := problems.Err(); m != nil || err == nil || !strings.Contains(err.Error(), "--max-points") {
		t.Errorf("matrix %v, problems %v", m, err)
	}
}

func TestTheLeftmostAxisIsTheSlowest(t *testing.T) {
	exp, cat := manyPoints(t, 10)
	m, problems := Expand(exp, cat, Options{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	var rates []float64
	for plan := range m.Plans() {
		rates = append(rates, plan.Measurements[0].Stages[1].Rate)
		d := plan.Deployment
		if len(rates) == 12 && (d.Env["BLOCK"] != "2" || d.Replicas != 1 || d.TensorParallel != 1) {
			t.Errorf("point 12 has block %s, %d replicas, tensor parallelism %d", d.Env["BLOCK"], d.Replicas, d.TensorParallel)
		}
		if len(rates) == 12 {
			break
		}
	}
	if want := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2}; !slices.Equal(rates, want) {
		t.Errorf("rates %v, want %v", rates, want)
	}
}

func TestShufflingKeepsEveryPointAndItsName(t *testing.T) {
	for round := range 3 {
		order := shuffled(100, 7, round)
		if again := shuffled(100, 7, round); !slices.Equal(order, again) {
			t.Error("the same seed gives two orders")
		}
		slices.Sort(order)
		for i, n := range order {
			if i != n {
				t.Fatalf("round %d lost point %d", round, i)
			}
		}
	}
	if slices.Equal(shuffled(100, 7, 0), shuffled(100, 7, 1)) || slices.Equal(shuffled(100, 7, 0), shuffled(100, 8, 0)) {
		t.Error("two rounds or two seeds give one order")
	}
	if want := []int{4, 1, 6, 3, 5, 0, 7, 2}; !slices.Equal(shuffled(8, 7, 0), want) {
		t.Errorf("seed 7 gives %v, it used to give %v", shuffled(8, 7, 0), want)
	}
}

func TestAPointIsTheSameAloneAndInAMatrix(t *testing.T) {
	const file = `
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: NAME}
spec:
  model: {name: acme/tiny-1b}
  deployment_profile: sim
  load: {data: {input: 10, output: 10}, stages: [{rate: 1, duration: 10s}]}
  EXTRA
`
	plan := func(name, extra string, opt Options) []string {
		text := strings.NewReplacer("NAME", name, "EXTRA", extra).Replace(file)
		plans, problems := planFile(t, name, []byte(text), opt)
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		var hashes []string
		for _, p := range plans {
			hashes = append(hashes, p.Hash)
		}
		return hashes
	}
	alone := plan("alone", `matrix: {axes: {"load.stages[0].rate": [8]}}`, Options{})
	matrix := plan("matrix", `matrix: {axes: {"load.stages[0].rate": [2, 8]}}`, Options{})
	elsewhere := plan("other",
		"namespace: other\n  target_clusters: [lab-a]\n  queue: {priority: high}\n  mlflow: {experiment: e}\n  matrix: "+
			"{axes: {\"load.stages[0]\": [{name: x, rate: 8, duration: 10s}]}}",
		Options{ImagePrefix: "example.com/b", Version: "v9"})
	if matrix[1] != alone[0] || matrix[0] == alone[0] {
		t.Error("a point of a matrix differs from the same alone")
	}
	if elsewhere[0] != alone[0] {
		t.Error("another target, queue, namespace or version makes another point")
	}
}

func TestASharedDeploymentHoldsThePointsThatTheMatrixHasAlone(t *testing.T) {
	data, err := os.ReadFile("testdata/shared.input.yaml")
	if err != nil {
		t.Fatal(err)
	}
	shared, problems := planFile(t, "shared.yaml", data, Options{})
	apart, more := planFile(t, "apart.yaml", []byte(strings.Replace(string(data), "share_deployment: true",
		"share_deployment: false", 1)), Options{})
	if problems.Err() != nil || more.Err() != nil || len(shared) != 2 || len(apart) != 4 {
		t.Fatalf("%d and %d plans, %v, %v", len(shared), len(apart), problems.Err(), more.Err())
	}
	for i, p := range apart {
		if together := shared[i/2].Measurements[i%2]; together.Hash != p.Measurements[0].Hash {
			t.Errorf("measurement %q has another hash than point %d alone", together.Name, i+1)
		}
	}
}

func TestRoundsRepeatEveryPoint(t *testing.T) {
	exp, cat := manyPoints(t, 1)
	exp.Spec.Matrix.Repeat = 2
	m, problems := Expand(exp, cat, Options{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	var names []string
	for plan := range m.Plans() {
		names = append(names, plan.Name)
	}
	if len(names) != 2000 || m.Len() != 2000 || names[0] != "many-points-m1-r1" || names[1000] != "many-points-m1-r2" {
		t.Errorf("%d of %d plans, %s, %s", len(names), m.Len(), names[0], names[1000])
	}
}

func TestALiteralKeyBecomesASecretAndIsInNoPlan(t *testing.T) {
	text := strings.Replace(layered, "    profile: {kind: concurrent",
		"    backend: {api_key: sk-very-secret}\n    profile: {kind: concurrent", 1)
	set, problems := spec.LoadBytes(spec.Options{ProfileDirs: []string{"testdata/profiles"}}, "key.yaml", []byte(text))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	m, problems := Expand(set.Experiments[0], set.Catalogue, Options{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	for plan := range m.Plans() {
		secrets := m.Secrets()
		key := plan.Measurements[0].API.APIKeySecret
		if len(secrets) != 1 || key == nil || secrets[0].Name != key.Name || secrets[0].Value != "sk-very-secret" {
			t.Errorf("key %v, %d secrets", key, len(secrets))
		}
		if b, err := runplan.Marshal(plan); err != nil || strings.Contains(string(b), "sk-very-secret") {
			t.Error("the plan holds the key")
		}
	}
}

// Every axis below is zipped with one that makes the plans differ, so that nothing else notices a value that is lost.
func TestAnAxisTakesEffectWhateverSectionItIsIn(t *testing.T) {
	model := func(p *runplan.RunPlan) any { return p.Deployment.Model.Name }
	samples := func(p *runplan.RunPlan) any { return len(p.Measurements)*10 + p.Measurements[0].Samples }
	for _, row := range []struct {
		name, axis, values string
		read               func(*runplan.RunPlan) any
		want               []any
	}{
		{"the model's name", "model.name", "[acme/tiny-1b, acme/mid-8b]", model, []any{"acme/tiny-1b", "acme/mid-8b"}},
		{"the whole model", "model", "[{name: acme/tiny-1b}, {name: acme/mid-8b}]", model,
			[]any{"acme/tiny-1b", "acme/mid-8b"}},
		{"samples", "execution.samples", "[1, 3]", samples, []any{11, 13}},
		{"the whole execution", "execution", "[{samples: 1}, {samples: 3}]", samples, []any{11, 13}},
		{"a limit in the whole execution", "execution", "[{timeout: 1h}, {timeout: 2h}]",
			func(p *runplan.RunPlan) any { return p.Timeouts.Pipeline.D().String() }, []any{"1h17m0s", "2h17m0s"}},
		{"what an invalid measurement does", "execution.on_invalid", "[mark, fail]",
			func(p *runplan.RunPlan) any { return p.Execution.OnInvalid }, []any{"mark", "fail"}},
		{"all overrides", "overrides", "[{benchmark: {max_seconds: 10}}, {benchmark: {max_seconds: 20}}]",
			func(p *runplan.RunPlan) any { return p.Measurements[0].Stages[0].Duration.D().String() }, []any{"10s", "20s"}},
		{"the whole target cluster", "target_cluster", "[{host_aliases: {a: 192.0.2.1}}, {host_aliases: {a: 192.0.2.2}}]",
			func(p *runplan.RunPlan) any { return p.Target.HostAliases["a"] }, []any{"192.0.2.1", "192.0.2.2"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			text := layered + "  matrix: {axes: {" + row.axis + ": " + row.values + ", mlflow.version: [a, b]}, zip: [[" +
				row.axis + ", mlflow.version]]}\n"
			plans, problems := planFile(t, "axis.yaml", []byte(text), Options{})
			if err := problems.Err(); err != nil {
				t.Fatal(err)
			}
			var got []any
			for _, p := range plans {
				got = append(got, row.read(p))
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}

func TestOnlyPointsThatSayItShareADeployment(t *testing.T) {
	const file = `
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: some-share}
spec:
  model: {name: acme/tiny-1b}
  deployment_profile: sim
  load: {data: {input: 10, output: 10}, stages: [{rate: 1, duration: 10s}]}
  matrix: {axes: {AXIS, "load.stages[0].rate": [2, 8], mlflow.version: [a, b]}, zip: [[NAME, mlflow.version]]}
`
	for _, row := range []struct{ name, axis string }{
		{"execution.share_deployment", "execution.share_deployment: [false, true]"},
		{"execution", "execution: [{share_deployment: false}, {share_deployment: true}]"},
	} {
		t.Run("an axis on "+row.name, func(t *testing.T) {
			plans, problems := planFile(t, "share.yaml", []byte(
				strings.NewReplacer("AXIS", row.axis, "NAME", row.name).Replace(file)), Options{})
			if err := problems.Err(); err != nil {
				t.Fatal(err)
			}
			var loads []int
			for _, p := range plans {
				loads = append(loads, len(p.Measurements))
			}
			if want := []int{1, 1, 2}; !slices.Equal(loads, want) {
				t.Errorf("plans with %v loads, want %v", loads, want)
			}
		})
	}
}

func TestAnAxisMayNameSecrets(t *testing.T) {
	for _, axis := range []string{
		"target_cluster.kubeconfig_secret: [lab-a, lab-b]",
		"target_cluster: [{kubeconfig_secret: lab-a}, {kubeconfig_secret: lab-b}]",
		"overrides.runtime.env.HF_TOKEN: [{valueFrom: {secretKeyRef: {name: hub, key: one}}}, {valueFrom: " +
			"{secretKeyRef: {name: hub, key: two}}}]",
	} {
		t.Run(axis, func(t *testing.T) {
			text := layered + "  matrix: {axes: {" + axis + "}}\n"
			if plans, problems := planFile(t, "secrets.yaml", []byte(text), Options{}); problems.Err() != nil ||
				len(plans) != 2 {
				t.Errorf("%d plans, %v", len(plans), problems.Err())
			}
		})
	}
}

func TestEachLoadOfASharedDeploymentIsJudgedByItsOwnObjectives(t *testing.T) {
	const file = `
apiVersion: bflow.dev/v1alpha1
kind: BenchmarkProfile
metadata: {name: NAME}
spec:
  tool: native
  load: {api: {API}, data: {input: 10, output: 10}, stages: [{rate: RATE, duration: 10s}]}
---`
	var text string
	for _, p := range [][]string{{"quick", "slo_headers: {ttft: 50ms}", "1"}, {"slow", "slo_headers: {ttft: 2s}", "2"},
		{"any", "stream: true", "3"}} {
		text += strings.NewReplacer("NAME", p[0], "API", p[1], "RATE", p[2]).Replace(file)
	}
	text += `
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: own-objectives}
spec:
  model: {name: acme/tiny-1b}
  deployment_profile: sim
  execution: {share_deployment: true}
  benchmark_profile: [quick, slow, any]
`
	goodput := func(s *runplan.SLO) runplan.Duration {
		if s == nil || s.Goodput == nil {
			return 0
		}
		return s.Goodput.TTFT
	}
	for _, row := range []struct {
		name, slo string
		whole     time.Duration
		want      []time.Duration
	}{
		{"those that its words name", "", 0, []time.Duration{50 * time.Millisecond, 2 * time.Second, 0}},
		{"those of the experiment where it has any", "  slo: {goodput: {min: 0.9, ttft: 1s}}\n", time.Second,
			[]time.Duration{time.Second, time.Second, time.Second}},
	} {
		t.Run(row.name, func(t *testing.T) {
			plans, problems := planFile(t, "own.yaml", []byte(text+row.slo), Options{})
			if err := problems.Err(); err != nil || len(plans) != 1 {
				t.Fatalf("%d plans, %v", len(plans), err)
			}
			var got []time.Duration
			for i := range plans[0].Measurements {
				got = append(got, goodput(plans[0].Objectives(i)).D())
			}
			if !slices.Equal(got, row.want) || goodput(plans[0].SLO).D() != row.whole {
				t.Errorf("got %v, and %v for all, want %v and %v", got, goodput(plans[0].SLO), row.want, row.whole)
			}
		})
	}
}

func TestAFileOfThisMachineIsFoundInEveryValueOfAnAxis(t *testing.T) {
	text := layered + "  matrix: {axes: {target_cluster: [{host_aliases: {a: 192.0.2.1}}, {kubeconfig: ~/.kube/lab-b}]}}\n"
	_, problems := planFile(t, "reach.yaml", []byte(text), Options{Submitted: true})
	if err := problems.Err(); err == nil || !strings.Contains(err.Error(), `"~/.kube/lab-b" is a file on this machine`) {
		t.Errorf("problems %v", err)
	}
}
