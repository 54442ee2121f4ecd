package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/runplan/contract"
)

// mayAll fails where the step has asked the API server for what Role bflow-submit does not let its account do.
func (d *desk) mayAll() {
	d.t.Helper()
	var rules []rbacv1.PolicyRule
	text, err := os.ReadFile("../../../bootstrap/overlays/runs/rbac.yaml")
	if err != nil {
		d.t.Fatal(err)
	}
	docs := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var r rbacv1.Role
		if err := docs.Decode(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			d.t.Fatal(err)
		}
		if r.Kind == "Role" && r.Name == contract.AccountSubmit {
			rules = append(rules, r.Rules...)
		}
	}
	for _, q := range d.srv.Requests() {
		resource := q.Resource
		if q.Subresource != "" {
			resource += "/" + q.Subresource
		}
		granted := slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
			return slices.Contains(r.APIGroups, q.Group) && slices.Contains(r.Resources, resource) &&
				slices.Contains(r.Verbs, q.Verb)
		})
		if q.Resource != "" && !granted {
			d.t.Errorf("account %s may not %s in %q", contract.AccountSubmit, q, q.Group)
		}
	}
}

// threePoints is an experiment of three points, one at a time, that ends with the first failure.
var threePoints = smallExperiment + `  matrix: {axes: {load.data.input: [8, 16, 32]}, max_parallel: 1, fail_fast: true}
`

// matrix is the one matrix that the step has made.
func (d *desk) matrix() string {
	d.t.Helper()
	made := d.children()
	if len(made) != 1 {
		d.t.Fatalf("it has made %v, want one matrix", made)
	}
	return filepath.Base(made[0])
}

func TestAnExperimentOfSeveralPointsRunsAsAMatrixToItsVerdict(t *testing.T) {
	for _, row := range []struct {
		name, outcomes string
		code           int
		verdict        string
	}{
		{"all points pass", "ppp", 0, "pass"},
		{"a point fails and the rest is not made", "pFs", 1, "fail"},
		{"numbers that cannot be believed", "pIp", 4, "invalid"},
		{"somebody cancels the matrix", "pcs", 130, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := newDesk(t, map[string]string{"experiment": threePoints})
			go func() {
				eventually.Happens(t.Context(), func() bool { return len(d.children()) > 0 })
				for _, path := range d.children() {
					actMatrix(d.srv, filepath.Base(path), "po.", false)
					eventually.Happens(t.Context(), func() bool { return strings.Contains(d.err.String(), "1 passed") })
					actMatrix(d.srv, filepath.Base(path), row.outcomes, true)
				}
			}()
			if code := d.step(eventually.Context(t)); code != row.code {
				t.Fatalf("exit code %d, want %d\n%s", code, row.code, d.err.String())
			}
			name := d.matrix()
			if d.result(contract.ResultVerdict) != row.verdict || d.result(contract.ResultRuns) != name ||
				len(strings.Split(d.result(contract.ResultPlanHashes), ",")) != 3 {
				t.Errorf("results %q, %q, %q", d.result(contract.ResultVerdict), d.result(contract.ResultRuns),
					d.result(contract.ResultPlanHashes))
			}
			d.says(name+", a matrix of 3 points", "this PipelineRun times out after 1h0m0s", "verdict: "+row.verdict,
				"bflow report "+name)
			d.mayAll()
		})
	}
}

// TestTheMatrixOfAnExperimentBelongsToWhoStartedIt: what its file says of its points holds, and it goes with the
// PipelineRun.
func TestTheMatrixOfAnExperimentBelongsToWhoStartedIt(t *testing.T) {
	d := newDesk(t, map[string]string{"experiment": threePoints, "wait": "false"})
	if code := d.step(eventually.Context(t)); code != 0 {
		t.Fatalf("exit code %d\n%s", code, d.err.String())
	}
	o := d.srv.Get(benchRuns + d.matrix())
	meta := o["metadata"].(apitest.Object)
	owner := meta["ownerReferences"].([]any)[0].(apitest.Object)
	if owner["name"] != starter || owner["uid"] != d.srv.Get(benchRuns + starter)["metadata"].(apitest.Object)["uid"] {
		t.Errorf("owner %v", owner)
	}
	labels, notes := meta["labels"].(apitest.Object), meta["annotations"].(apitest.Object)
	if labels[contract.LabelParent] != starter || notes[contract.AnnotationStarted] != "a push by jane" ||
		notes[contract.AnnotationSource] != "param experiment" {
		t.Errorf("labels %v, annotations %v", labels, notes)
	}
	text := jsonText(t, o["spec"])
	for _, want := range []string{`{"name":"max-parallel","value":"1"}`, `{"name":"fail-fast","value":"true"}`} {
		if !strings.Contains(text, want) {
			t.Errorf("the matrix is not told %s: %s", want, text)
		}
	}
}

func TestTheEndOfTheTaskAndItsMatrix(t *testing.T) {
	for _, row := range []struct {
		name string
		end  func(*apitest.Server)
		want any // spec.status of the matrix
		says string
	}{
		{"a cancelled PipelineRun cancels it", func(s *apitest.Server) {
			s.Change(benchRuns+starter, func(o apitest.Object) { o["spec"].(apitest.Object)["status"] = "Cancelled" })
		}, "CancelledRunFinally", "its finally tasks clean up"},
		{"one that has waited too long lets it go on", func(s *apitest.Server) {
			s.Put(benchTasks+starter+"-experiment", map[string]any{"spec": map[string]any{"status": "TaskRunCancelled",
				"statusMessage": "TaskRun cancelled as the PipelineRun it belongs to has timed out."}})
		}, nil, "the runs continue"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := newDesk(t, map[string]string{"experiment": threePoints})
			ctx, signal := context.WithCancel(eventually.Context(t))
			code := make(chan int)
			go func() { code <- d.step(ctx) }()
			d.awaits("a matrix of 3 points")
			actMatrix(d.srv, d.matrix(), "po.", false)
			d.awaits("1 passed")
			row.end(d.srv)
			signal()
			if got := <-code; got != contract.ExitInterrupted {
				t.Errorf("exit code %d", got)
			}
			d.says(row.says)
			if got := d.srv.Get(benchRuns + d.matrix())["spec"].(apitest.Object)["status"]; got != row.want {
				t.Errorf("the matrix is %v, want %v", got, row.want)
			}
			d.mayAll()
		})
	}
}

// TestAnExperimentThatIsRefusedTakesTheMatrixBeforeItAlong: nobody would wait for that one.
func TestAnExperimentThatIsRefusedTakesTheMatrixBeforeItAlong(t *testing.T) {
	second := strings.Replace(threePoints, "name: small", "name: second", 1)
	d := newDesk(t, map[string]string{"experiment": threePoints + "---" + second})
	d.srv.Refuse(func(q apitest.Request) (int, string) {
		if q.Verb == "create" && q.Resource == "pipelineruns" && len(d.children()) > 0 {
			return http.StatusForbidden, "no more of these"
		}
		return 0, ""
	})
	if code := d.step(eventually.Context(t)); code != contract.ExitFail {
		t.Errorf("exit code %d", code)
	}
	d.says("no more of these", "cancelled "+d.matrix()+", which had been created before")
	if got := d.srv.Get(benchRuns + d.matrix())["spec"].(apitest.Object)["status"]; got != "CancelledRunFinally" {
		t.Errorf("the first matrix is %v", got)
	}
}

func jsonText(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
