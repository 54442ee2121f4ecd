package compile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"bflow.dev/bflow/generator/shard"
	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/pipelines/check"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// several are plans of one experiment that differ as those of a matrix do.
func several(t testing.TB, edits ...func(*runplan.RunPlan)) []*runplan.RunPlan {
	var plans []*runplan.RunPlan
	for i := range 4 {
		plans = append(plans, MakePlan(t, append(edits, func(p *runplan.RunPlan) {
			p.Index, p.Name = i+1, fmt.Sprintf("tiny-chat-m%d", i+1)
			p.Axes = []runplan.AxisValue{{Path: "load.rate", Value: i}}
			p.Execution.MaxParallel, p.Execution.FailFast = 2, true
			if i == 2 {
				p.Measurements = append(p.Measurements, MakeMeasurement("more"))
				p.Timeouts.Task["load-gen-1"] = minutes(3)
			}
			if i == 3 {
				p.Target.Name, p.Queue.Name = "lab-a", "lab-a"
			}
		})...))
	}
	return plans
}

func all(plans []*runplan.RunPlan) Plans {
	return func(yield func(*runplan.RunPlan, error) bool) {
		for _, p := range plans {
			if !yield(p, nil) {
				return
			}
		}
	}
}

func readPoints(t testing.TB, maps []*corev1.ConfigMap, root string) *shard.Points {
	t.Helper()
	var pieces []shard.Piece
	for _, cm := range maps {
		p, err := ReadPiece(cm)
		if err != nil {
			t.Fatal(err)
		}
		pieces = append(pieces, p)
	}
	points, err := shard.Read(root, pieces)
	if err != nil {
		t.Fatal(err)
	}
	return points
}

func rootOf(t testing.TB, m MatrixObjects) string {
	t.Helper()
	for _, task := range m.Parent.Spec.PipelineSpec.Tasks {
		for _, p := range task.Params {
			if p.Name == contract.ParamPlans {
				return p.Value.StringVal
			}
		}
	}
	t.Fatal("the parent names no points")
	return ""
}

// TestAChildIsWhatItWereAlone: the controller makes byte for byte the objects that --flat makes.
func TestAChildIsWhatItWereAlone(t *testing.T) {
	for _, c := range cases {
		if c.options.NoQueue {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			plans := several(t, c.plan)
			m, err := Matrix(all(plans), c.options)
			if err != nil {
				t.Fatal(err)
			}
			points := readPoints(t, m.Plans, rootOf(t, m))
			for i, p := range plans {
				want, err := Compile(p, c.options)
				if err != nil {
					t.Fatal(err)
				}
				point, err := points.Point(i)
				if err != nil {
					t.Fatal(err)
				}
				cm, run, err := Child(point)
				if err != nil {
					t.Fatal(err)
				}
				same(t, want.ConfigMap, cm)
				same(t, want.PipelineRun, run)
				if point.Lane != p.Queue.Name || point.Name != p.Name {
					t.Errorf("about %+v", point.About)
				}
			}
		})
	}
}

func same(t *testing.T, want, got any) {
	t.Helper()
	a, errA := json.Marshal(want)
	b, errB := json.Marshal(got)
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(a), string(b)); diff != "" {
		t.Error(diff)
	}
}

func TestTheYAMLOfAMatrix(t *testing.T) {
	o := Options{Version: "v0.1.0", Matrix: true, ImagePrefix: "reg.example/bflow"}
	var out bytes.Buffer
	if err := Write(&out, all(several(t)), o); err != nil {
		t.Fatal(err)
	}
	b, err := pipelines.Parse(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if len(b.PipelineRuns) != 1 || len(b.ConfigMaps) != 1 || len(b.Pipelines) != 3 {
		// with a teardown, with several loads, of a remote target
		t.Fatalf("%d runs, %d ConfigMaps, %d Pipelines", len(b.PipelineRuns), len(b.ConfigMaps), len(b.Pipelines))
	}
	parent := b.PipelineRuns[0]
	if parent.Labels[contract.LabelRole] != contract.RoleMatrix || parent.Labels[contract.LabelPlanHash] != "" ||
		parent.Labels[contract.LabelQueue] != "" {
		t.Errorf("labels %v: a parent is no run", parent.Labels)
	}
	if parent.Spec.Timeouts.Pipeline.Duration != 0 || parent.Spec.Timeouts.Tasks.Duration != 0 ||
		parent.Spec.Status != "" {
		t.Errorf("%+v", parent.Spec.Timeouts)
	}
	checker, err := check.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, plan := range several(t) { // what the runs refer to must be there
		objs, err := Compile(plan, o)
		if err != nil {
			t.Fatal(err)
		}
		b.PipelineRuns, b.ConfigMaps = append(b.PipelineRuns, objs.PipelineRun), append(b.ConfigMaps, objs.ConfigMap)
	}
	if err := checker.Bundle(b); err != nil {
		t.Error(err)
	}
}

func TestPlansThatStandAloneAreRuns(t *testing.T) {
	other := MakePlan(t, func(p *runplan.RunPlan) { p.Name, p.Experiment = "other", "other" })
	for _, row := range []struct {
		name             string
		plans            []*runplan.RunPlan
		o                Options
		parents, singles int
	}{
		{"one plan", several(t)[:1], Options{Matrix: true}, 0, 1},
		{"two experiments", append(several(t), other), Options{Matrix: true}, 1, 1},
		{"flat", several(t), Options{}, 0, 4},
		{"without a queue", several(t), Options{Matrix: true, NoQueue: true}, 0, 4},
	} {
		t.Run(row.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Write(&out, all(row.plans), row.o); err != nil {
				t.Fatal(err)
			}
			b, err := pipelines.Parse(&out)
			if err != nil {
				t.Fatal(err)
			}
			parents := 0
			for _, r := range b.PipelineRuns {
				if r.Labels[contract.LabelRole] == contract.RoleMatrix {
					parents++
				}
			}
			if parents != row.parents || len(b.PipelineRuns)-parents != row.singles {
				t.Errorf("%d parents, %d runs", parents, len(b.PipelineRuns)-parents)
			}
		})
	}
}

func TestNamesOfChildrenHaveRoom(t *testing.T) {
	parent := strings.Repeat("x", 40) + "-abcde"
	for _, row := range []struct {
		n    int
		want string
	}{{1, parent + "-00001"}, {99_999, parent + "-99999"}} {
		got := ChildName(parent, row.n)
		if got != row.want || len(validation.IsDNS1123Label(got+"-a10")) > 0 {
			t.Errorf("point %d is %q, want %q", row.n, got, row.want)
		}
	}
	if a, b := ChildName(strings.Repeat("y", 63), 1), ChildName(strings.Repeat("y", 63), 2); a == b || len(a) > 63 {
		t.Errorf("%q and %q", a, b)
	}
}

// TestTenThousandPointsFitIntoAFewConfigMaps also says how long it takes: seconds.
func TestTenThousandPointsFitIntoAFewConfigMaps(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles ten thousand plans")
	}
	sampled := map[int][]byte{}
	m, err := Matrix(func(yield func(*runplan.RunPlan, error) bool) {
		i := 0
		for plan, err := range planned(t, tenThousand) {
			if i%997 == 0 {
				sampled[i], _ = runplan.Marshal(plan)
			}
			if i++; !yield(plan, err) {
				return
			}
		}
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, cm := range m.Plans {
		size := len(cm.BinaryData[keyPoints])
		if size > shard.Limit {
			t.Errorf("%s has %d bytes", cm.Name, size)
		}
		total += size
	}
	t.Logf("%d points in %d ConfigMaps, %d bytes each", m.Points, len(m.Plans), total/m.Points)
	points := readPoints(t, m.Plans, rootOf(t, m))
	for i, want := range sampled {
		point, err := points.Point(i)
		if err != nil || !bytes.Equal(want, point.Plan) {
			t.Errorf("point %d differs: %v", i, err)
		}
	}
	if points.Len() != 10_000 || len(sampled) < 10 {
		t.Errorf("%d points, %d looked at", points.Len(), len(sampled))
	}
}

func BenchmarkMatrix10000(b *testing.B) {
	for b.Loop() {
		if _, err := Matrix(planned(b, tenThousand), Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/op")
}

func TestPointsThatAreTakenOfAMatrixKeepWhatItSaysOfItself(t *testing.T) {
	ttl := int64(60)
	plans := several(t, func(p *runplan.RunPlan) { p.Execution.TTLSeconds = &ttl })
	whole, err := Matrix(all(plans), Options{})
	if err != nil {
		t.Fatal(err)
	}
	whole.Parent.Labels[contract.LabelParent] = "somebody's" // who did not start what is taken of it
	taken, err := Select(whole.Parent, readPoints(t, whole.Plans, rootOf(t, whole)), []int{1})
	if err != nil {
		t.Fatal(err)
	}
	if by, has := taken.Parent.Labels[contract.LabelParent]; has {
		t.Errorf("it belongs to %q", by)
	}
	want := maps.Clone(whole.Parent.Annotations)
	want[contract.AnnotationLoad] = "1 point"
	if want[contract.AnnotationTTL] != "60" || want[contract.AnnotationResultsSize] == "" {
		t.Errorf("the matrix says %v", want)
	}
	same(t, want, taken.Parent.Annotations)
}
