package compile

import (
	"strings"
	"testing"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
)

func TestWhatTektonWouldRefuseLaterIsRefusedNow(t *testing.T) {
	for _, row := range []struct {
		name    string
		plan    func(*runplan.RunPlan)
		options Options
		want    string
	}{
		{name: "a plan without a digest", plan: func(p *runplan.RunPlan) { p.Digest = "" },
			want: "it has no hash and digest"},
		{name: "no time for finally", plan: func(p *runplan.RunPlan) { p.Timeouts.Finally = 0 },
			want: "finally 0s, both above zero"},
		{name: "a pipeline shorter than its parts", plan: func(p *runplan.RunPlan) { p.Timeouts.Pipeline = minutes(44) },
			want: "pipeline 44m0s must hold tasks 30m0s and finally 15m0s"},
		{name: "a task longer than all tasks", plan: func(p *runplan.RunPlan) { p.Timeouts.Task["collect"] = minutes(31) },
			want: `timeout of task "collect": 31m0s`},
		{name: "a name that no object can have", plan: func(p *runplan.RunPlan) { p.Name = "Tiny_Chat" },
			want: "its name is not a lower-case label"},
		{name: "a name without room for the server's part",
			plan: func(p *runplan.RunPlan) { p.Name = strings.Repeat("a", 58) }, want: "of at most 57 characters"},
		{name: "a label that says what only the server knows",
			plan: func(p *runplan.RunPlan) { p.Labels = map[string]string{"bflow.dev/run": "x"} },
			want: `label "bflow.dev/run" of the experiment is reserved`},
		{name: "no queue to wait in", plan: func(p *runplan.RunPlan) { p.Queue.Name = "" }, want: "it names no queue"},
		{name: "an unknown platform", options: Options{Platform: "k3s"},
			want: `platform "k3s": want "kubernetes" or "openshift"`},
		{name: "a bundle by tag", options: Options{Bundle: "reg.example/tasks:v1"},
			want: `bundle "reg.example/tasks:v1": name it by digest`},
	} {
		t.Run(row.name, func(t *testing.T) {
			plan := MakePlan(t)
			if row.plan != nil {
				row.plan(plan) // after sealing
			}
			if _, err := Compile(plan, row.options); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got error %v, want one with %q", err, row.want)
			}
		})
	}
}

func TestOnlyNeededTasksAreThere(t *testing.T) {
	for _, row := range []struct {
		name string
		plan func(*runplan.RunPlan)
		want string
	}{
		{name: "a deployment of our own is released and torn down", plan: func(*runplan.RunPlan) {},
			want: "provision smoketest load-gen-0 release collect mlflow-push / teardown finalize summary"},
		{name: "an existing endpoint is left alone", plan: existingEndpoint,
			want: "provision smoketest load-gen-0 collect mlflow-push / finalize summary"},
		{name: "a deployment to keep is kept, and without the benchmark phase there is no load", plan: keptDeployment,
			want: "provision smoketest collect mlflow-push / finalize summary"},
		{name: "measurements follow each other", plan: severalMeasurements,
			want: "provision smoketest load-gen-0 load-gen-1 load-gen-2 release collect mlflow-push / teardown finalize " +
				"summary"},
	} {
		t.Run(row.name, func(t *testing.T) {
			o, err := Compile(MakePlan(t, row.plan), Options{})
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, task := range o.Pipeline.Spec.Tasks {
				names = append(names, task.Name)
			}
			names = append(names, "/")
			for _, step := range o.Tasks[len(o.Tasks)-1].Spec.Steps {
				names = append(names, step.Name)
			}
			if got := strings.Join(names, " "); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

func TestPlansOfEqualShapeShareWhatIsNotTheirOwn(t *testing.T) {
	c, err := newCompiler(Options{})
	if err != nil {
		t.Fatal(err)
	}
	pipeline := func(edits ...func(*runplan.RunPlan)) string {
		o, err := c.compile(MakePlan(t, edits...))
		if err != nil {
			t.Fatal(err)
		}
		return o.Pipeline.Name
	}
	base := pipeline()
	if got := pipeline(
		func(p *runplan.RunPlan) { p.Timeouts.Task["load-gen-0"] = minutes(20); p.Name = "other" }); got != base {
		t.Errorf("a longer load made another Pipeline: %s and %s", base, got)
	}
	for name, edit := range map[string]func(*runplan.RunPlan){
		"another measurement": severalMeasurements, "another image": pinnedImages, "no teardown": keptDeployment,
	} {
		if pipeline(edit) == base {
			t.Errorf("%s made the same Pipeline", name)
		}
	}
}

func TestLabelValue(t *testing.T) {
	for _, row := range []struct{ name, in, want string }{
		{"a build's metadata loses its plus", "v1.2.3+dirty", "v1.2.3-dirty"},
		{"a devel version keeps its word", "(devel)", "devel"},
		{"spaces and other letters become dashes", "My Größe", "My-Gr--e"},
		{"64 hex digits lose one", strings.Repeat("a", 64), strings.Repeat("a", 63)},
		{"a cut never ends in a dash", strings.Repeat("a", 62) + "-b", strings.Repeat("a", 62)},
	} {
		if got := labelValue(row.in); got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

// TestARunSaysWhichPrometheusItAsks: the controller makes a token for it, where an administrator has listed the server.
func TestARunSaysWhichPrometheusItAsks(t *testing.T) {
	asks := func(address string) func(*runplan.RunPlan) {
		return func(p *runplan.RunPlan) { p.Metrics = &runplan.Metrics{PrometheusURL: address} }
	}
	for _, row := range []struct {
		name string
		edit func(*runplan.RunPlan)
		opt  Options
		want string
	}{
		{name: "over https", edit: asks("https://thanos.example"), want: "https://thanos.example"},
		{name: "in clear text, which takes no token", edit: asks("http://thanos.example")},
		{name: "none", edit: func(*runplan.RunPlan) {}},
		{name: "without a queue, so that no controller looks after it", edit: asks("https://thanos.example"),
			opt: Options{NoQueue: true}},
		{name: "from another cluster",
			edit: func(p *runplan.RunPlan) { asks("https://thanos.example")(p); p.Target.Name = "far" }},
	} {
		c := &compiler{Options: row.opt}
		if got := c.runMetadata(MakePlan(t, row.edit)).Annotations[contract.AnnotationMetrics]; got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}

// TestARunCarriesOnlyWhatItsSubmitterMayWrite: the API server refuses a run with any other key of bflow or Kueue. The
// plan asks for all that a run can say of itself.
func TestARunCarriesOnlyWhatItsSubmitterMayWrite(t *testing.T) {
	plan := MakePlan(t, func(p *runplan.RunPlan) {
		p.Metrics = &runplan.Metrics{PrometheusURL: "https://thanos.example"}
		p.Queue.SetupKey, p.Queue.Priority = "llm-d/istio", "high"
		p.Queue.Requests = map[string]string{"nvidia.com/gpu": "2"}
		p.Deployment.Replicas = 2
		p.Target.AnyOf, p.Target.Selector = []string{"local", "far"}, map[string]string{"region": "eu"}
		p.Axes = []runplan.AxisValue{{Path: "load.rate", Value: 1}}
	})
	for _, noQueue := range []bool{false, true} {
		meta := (&compiler{Options: Options{NoQueue: noQueue}}).runMetadata(plan)
		if err := run.CheckSubmittedKeys(meta.Labels, meta.Annotations); err != nil {
			t.Errorf("without a queue: %v: %v", noQueue, err)
		}
	}
}
