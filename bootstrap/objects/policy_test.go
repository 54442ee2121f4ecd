package objects_test

import (
	"context"
	"strings"
	"testing"

	"bflow.dev/bflow/bootstrap/objects"

	"github.com/google/cel-go/cel"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	admissioncel "k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"
)

const (
	theController = "system:serviceaccount:bflow-system:bflow-controller"
	theRunner     = "system:serviceaccount:bench:bflow-runner"
	somebody      = "alice"
	administrator = "root" // may delete namespaces
)

// queued is a run as the compiler writes it.
const queued = `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata:
  name: tiny
  namespace: bench
  labels: {bflow.dev/plan-hash: abc, bflow.dev/target: local, kueue.x-k8s.io/queue-name: local}
  annotations: {bflow.dev/requests: '{"nvidia.com/gpu":"4"}'}
spec: {status: PipelineRunPending}
`

// started is that run after its admission.
const started = `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata:
  name: tiny
  namespace: bench
  labels: {bflow.dev/plan-hash: abc, bflow.dev/target: local, kueue.x-k8s.io/queue-name: local, bflow.dev/run: tiny, bflow.dev/attempt: "1"}
  annotations: {bflow.dev/requests: '{"nvidia.com/gpu":"4"}', bflow.dev/admitted: "2026-01-01T00:00:00Z", bflow.dev/admitted-to: local}
  finalizers: [bflow.dev/release]
spec: {}
`

// cancelled is a queued run that somebody has cancelled.
const cancelled = `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata:
  name: tiny
  namespace: bench
  labels: {bflow.dev/plan-hash: abc, kueue.x-k8s.io/queue-name: local}
  annotations: {bflow.dev/requests: '{}', bflow.dev/cancelling: "2026-01-01T00:00:00Z"}
spec: {status: Cancelled}
`

// ending is a started run that somebody has cancelled.
const ending = `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: tiny, namespace: bench, labels: {bflow.dev/plan-hash: abc, bflow.dev/target: local}}
spec: {status: CancelledRunFinally}
`

// old is a run of an older bflow, with a key that is no longer known.
const old = `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: tiny, namespace: bench, labels: {bflow.dev/plan-hash: abc, bflow.dev/forgotten: x}}
spec: {status: PipelineRunPending}
`

// parent is the parent of a matrix.
const parent = `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: sweep, namespace: bench, labels: {bflow.dev/role: matrix, bflow.dev/experiment: sweep}, annotations: {bflow.dev/experiment: sweep}}
spec: {}
`

// plain is somebody's PipelineRun without keys of bflow.
const plain = `{apiVersion: tekton.dev/v1, kind: PipelineRun, metadata: {name: x, namespace: bench, labels: {}, ` +
	`annotations: {}}, spec: {}}`

// edit reads a run and changes it.
func edit(t *testing.T, text string, changes ...string) *unstructured.Unstructured {
	t.Helper()
	if text == "" {
		return nil
	}
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return change(t, o, changes...)
}

// change changes a run: "spec:status=Cancelled" sets field status of spec, "spec:status" removes it.
func change(t *testing.T, o *unstructured.Unstructured, changes ...string) *unstructured.Unstructured {
	t.Helper()
	for _, text := range changes {
		path, value, set := strings.Cut(text, "=")
		head, key, _ := strings.Cut(path, ":")
		fields := append(strings.Split(head, "."), key)
		if path == "metadata.finalizers" {
			o.SetFinalizers(strings.Fields(value))
			continue
		}
		if !set {
			unstructured.RemoveNestedField(o.Object, fields...)
		} else if err := unstructured.SetNestedField(o.Object, value, fields...); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func TestThePolicyOfRuns(t *testing.T) {
	p := compilePolicy(t, "bflow-runs")
	for _, row := range []struct {
		name     string
		by       string // "" = somebody
		old, now string
		changes  []string
		unqueued bool   // the namespace lets runs start without a queue
		want     string // part of the refusal, "" = allowed
	}{
		{name: "a run that waits is made", now: queued},
		{name: "a run that does not wait is refused", now: queued, changes: []string{"spec:status"},
			want: "must be created with spec.status PipelineRunPending"},
		{name: "a run with a queue waits where runs without one may start", now: queued, changes: []string{"spec:status"},
			unqueued: true, want: "must be created with spec.status PipelineRunPending"},
		{name: "a run without a queue is refused", now: queued,
			changes: []string{"spec:status", "metadata.labels:kueue.x-k8s.io/queue-name"},
			want:    "label namespace bench bflow.dev/allow-unqueued=true"},
		{name: "a run without a queue starts where the namespace says so", now: queued,
			changes: []string{"spec:status", "metadata.labels:kueue.x-k8s.io/queue-name"}, unqueued: true},
		{name: "a pending run without a queue label waits for a Workload of the controller", now: queued,
			changes: []string{"metadata.labels:kueue.x-k8s.io/queue-name"}},
		{name: "a run that says nothing of its needs is refused", now: queued,
			changes: []string{"metadata.annotations:bflow.dev/requests"}, want: "its requests in annotation bflow.dev/requests"},
		{name: "a run born released is refused", now: queued,
			changes: []string{"metadata.annotations:bflow.dev/released=now"}, want: "written by bflow-controller only"},
		{name: "a run born with the finalizer is refused", now: queued,
			changes: []string{"metadata.finalizers=bflow.dev/release"}, want: "finalizer bflow.dev/release belongs to"},
		{name: "a further attempt of the controller is made", by: theController, now: queued,
			changes: []string{"metadata.labels:bflow.dev/run=tiny", "metadata.labels:bflow.dev/attempt=2"}},
		{name: "a PipelineRun that is no run of ours need not wait", now: queued,
			changes: []string{"spec:status", "metadata.labels:bflow.dev/plan-hash"}},

		{name: "the controller lets it start", by: theController, old: queued, now: started},
		{name: "nobody else lets it start", old: queued, now: queued, changes: []string{"spec:status"},
			want: "started by bflow-controller only"},
		{name: "an administrator does not let it start either", by: administrator, old: queued, now: queued,
			changes: []string{"spec:status"}, want: "started by bflow-controller only"},
		{name: "a queued run is cancelled", old: queued, now: queued, changes: []string{"spec:status=Cancelled"}},
		{name: "a queued run is not cancelled in a way that runs finally", old: queued, now: queued,
			changes: []string{"spec:status=CancelledRunFinally"}, want: "is cancelled with spec.status Cancelled"},
		{name: "the controller does not cancel a queued run that way either", by: theController, old: queued, now: queued,
			changes: []string{"spec:status=StoppedRunFinally"}, want: "is cancelled with spec.status Cancelled"},
		{name: "a started run is cancelled with its finally", old: started, now: started,
			changes: []string{"spec:status=CancelledRunFinally"}},
		{name: "a started run is cancelled", old: started, now: started, changes: []string{"spec:status=Cancelled"}},
		{name: "somebody wants its end", old: started, now: started,
			changes: []string{"metadata.annotations:bflow.dev/cancelling=now"}},

		{name: "the controller notes that it is released", by: theController, old: started, now: started,
			changes: []string{"metadata.annotations:bflow.dev/released=now", "metadata.finalizers="}},
		{name: "nobody else says that it is released", old: started, now: started,
			changes: []string{"metadata.annotations:bflow.dev/released=now"}, want: "written by bflow-controller only"},
		{name: "nobody else says that its devices are free", old: started, now: started,
			changes: []string{"metadata.annotations:bflow.dev/freed=now"}, want: "written by bflow-controller only"},
		{name: "nobody takes back that it was let start", old: started, now: started,
			changes: []string{"metadata.annotations:bflow.dev/admitted"}, want: "written by bflow-controller only"},
		{name: "nobody else takes the finalizer", old: started, now: started, changes: []string{"metadata.finalizers="},
			want: "finalizer bflow.dev/release belongs to"},
		{name: "whoever may delete the namespace takes the finalizer", by: administrator, old: started, now: started,
			changes: []string{"metadata.finalizers="}},
		{name: "another finalizer is nobody's business", old: started, now: started,
			changes: []string{"metadata.finalizers=bflow.dev/release foregroundDeletion"}},

		{name: "needs do not change", old: queued, now: queued,
			changes: []string{"metadata.annotations:bflow.dev/requests={}"}, want: "never change; start another run"},
		{name: "needs do not go", old: queued, now: queued, changes: []string{"metadata.annotations:bflow.dev/requests"},
			want: "never change; start another run"},
		{name: "the controller does not change needs either", by: theController, old: queued, now: queued,
			changes: []string{"metadata.annotations:bflow.dev/requests={}"}, want: "never change; start another run"},
		{name: "pods do not come later", old: queued, now: queued,
			changes: []string{"metadata.annotations:bflow.dev/pods=[]"}, want: "never change; start another run"},
		{name: "the plan does not change", old: queued, now: queued,
			changes: []string{"metadata.labels:bflow.dev/plan-hash=def"}, want: "never change; start another run"},
		{name: "a run does not become somebody else's PipelineRun", old: started, now: started,
			changes: []string{"metadata.labels:bflow.dev/plan-hash"}, want: "never change; start another run"},
		{name: "a run is not born with another's name", now: queued, changes: []string{"metadata.labels:bflow.dev/run=other"},
			want: "identifies the owner of devices, is written by bflow-controller only"},
		{name: "nor with its own, which the controller writes", now: queued,
			changes: []string{"metadata.labels:bflow.dev/run=tiny"}, want: "written by bflow-controller only"},
		{name: "nor as a further attempt", now: queued, changes: []string{"metadata.labels:bflow.dev/attempt=2"},
			want: "label bflow.dev/attempt identifies the owner of devices"},
		{name: "nobody names a run that waits", old: queued, now: queued,
			changes: []string{"metadata.labels:bflow.dev/run=tiny"}, want: "written by bflow-controller only"},
		{name: "the controller does not name it anew", by: theController, old: started, now: started,
			changes: []string{"metadata.labels:bflow.dev/run=other"}, want: "never changes"},
		{name: "the name of a run is not taken away", by: theController, old: started, now: started,
			changes: []string{"metadata.labels:bflow.dev/run"}, want: "never changes"},
		{name: "a run does not take another's name", old: started, now: started,
			changes: []string{"metadata.labels:bflow.dev/run=other"}, want: "never changes"},
		{name: "the controller names the run", by: theController, old: queued, now: queued,
			changes: []string{"metadata.labels:bflow.dev/run=tiny"}},

		{name: "the controller puts a waiting run elsewhere", by: theController, old: queued, now: queued,
			changes: []string{"metadata.labels:bflow.dev/target=worker", "metadata.labels:kueue.x-k8s.io/queue-name=worker",
				"metadata.annotations:bflow.dev/chosen=worker: it is free"}},
		{name: "nobody else says where a run goes", old: queued, now: queued,
			changes: []string{"metadata.labels:bflow.dev/target=worker"},
			want:    "label bflow.dev/target of a run names its target"},
		{name: "a started run does not say that it is elsewhere", old: started, now: started,
			changes: []string{"metadata.labels:bflow.dev/target=worker"}, want: "never changes once the run was admitted"},
		{name: "nor by the controller", by: theController, old: started, now: started,
			changes: []string{"metadata.labels:bflow.dev/target=worker"}, want: "never changes once the run was admitted"},
		{name: "nor that it was let start elsewhere", old: started, now: started,
			changes: []string{"metadata.annotations:bflow.dev/admitted-to=worker"},
			want:    "annotation bflow.dev/admitted-to of a PipelineRun is written by bflow-controller only"},
		{name: "a started run does not lose its queue by the controller either", by: theController, old: started,
			now: started, changes: []string{"metadata.labels:kueue.x-k8s.io/queue-name=other"}, want: "only while it waits"},

		{name: "a queued run that was cancelled does not start", old: cancelled, now: cancelled,
			changes: []string{"spec:status"}, want: "stays cancelled; start another run"},
		{name: "it does not wait again either", old: cancelled, now: cancelled,
			changes: []string{"spec:status=PipelineRunPending"}, want: "stays cancelled"},
		{name: "nor does it run its finally", old: cancelled, now: cancelled,
			changes: []string{"spec:status=CancelledRunFinally"}, want: "stays cancelled"},
		{name: "nor by the controller", by: theController, old: cancelled, now: cancelled, changes: []string{"spec:status"},
			want: "stays cancelled"},
		{name: "a run that was cancelled with its finally does not go on", old: ending, now: ending,
			changes: []string{"spec:status"}, want: "stays cancelled"},
		{name: "it is cancelled outright", old: ending, now: ending, changes: []string{"spec:status=Cancelled"}},
		{name: "the wish for its end cannot be withdrawn", old: cancelled, now: cancelled,
			changes: []string{"metadata.annotations:bflow.dev/cancelling"},
			want:    "annotation bflow.dev/cancelling of a run cannot be withdrawn"},
		{name: "it is wished for again", old: cancelled, now: cancelled,
			changes: []string{"metadata.annotations:bflow.dev/cancelling=later", "metadata.annotations:bflow.dev/force=later"}},

		{name: "a key of ours that bflow does not know is refused", now: queued,
			changes: []string{"metadata.labels:bflow.dev/release=r"}, want: "a PipelineRun has no label bflow.dev/release"},
		{name: "a gate of Kueue is refused", now: queued, changes: []string{
			"metadata.annotations:kueue.x-k8s.io/admission-gated-by=x.y/z"},
			want: "has no annotation kueue.x-k8s.io/admission-gated-by"},
		{name: "a key that was there before the rules stays", old: old, now: old,
			changes: []string{"metadata.labels:tekton.dev/pipeline=p"}},
		{name: "the parent of a matrix is made, and does not wait", now: parent},
		{name: "nobody makes it a run of a matrix", now: parent, changes: []string{"metadata.labels:bflow.dev/matrix=other"},
			want: "label bflow.dev/matrix of a PipelineRun is written by bflow-controller only"},
		{name: "a PipelineRun that is no run does not say that it was let start", now: parent,
			changes: []string{"metadata.annotations:bflow.dev/admitted=now"}, want: "written by bflow-controller only"},
		{name: "it does not become a run", old: parent, now: parent,
			changes: []string{"metadata.labels:bflow.dev/plan-hash=abc"}, want: "never change"},
		{name: "a webhook says who asked for a run of bflow-experiment", now: plain,
			changes: []string{"metadata.annotations:bflow.dev/started-by=push by x", "metadata.annotations:bflow.dev/author=x"}},
		{name: "somebody else's job of Kueue is left alone", now: plain,
			changes: []string{"metadata.annotations:kueue.x-k8s.io/admission-gated-by=x.y/z",
				"metadata.labels:kueue.x-k8s.io/queue-name=q"}},
		{name: "a Pipeline does not write on a run what the controller writes",
			by: "system:serviceaccount:tekton-pipelines:tekton-pipelines-controller", old: started, now: started,
			changes: []string{"metadata.annotations:bflow.dev/freed=now"}, want: "written by bflow-controller only"},

		{name: "a waiting run changes its queue", old: queued, now: queued,
			changes: []string{"metadata.labels:kueue.x-k8s.io/queue-name=other"}},
		{name: "a started run does not leave its queue", old: started, now: started,
			changes: []string{"metadata.labels:kueue.x-k8s.io/queue-name"}, want: "only while it waits"},
		{name: "Tekton marks its own labels", by: "system:serviceaccount:tekton-pipelines:tekton-pipelines-controller",
			old: started, now: started, changes: []string{"metadata.labels:tekton.dev/pipeline=p"}},
		{name: "a run without labels and annotations of its own is read too",
			old: "{metadata: {name: x, labels: {bflow.dev/plan-hash: a}}}",
			now: "{metadata: {name: x, labels: {bflow.dev/plan-hash: a}}}"},
	} {
		t.Run(row.name, func(t *testing.T) {
			by := row.by
			if by == "" {
				by = somebody
			}
			got := p.refusals(t, by, edit(t, row.old), edit(t, row.now, row.changes...), row.unqueued)
			if row.want == "" && got != "" {
				t.Errorf("refused: %s", got)
			}
			if row.want != "" && !strings.Contains(got, row.want) {
				t.Errorf("got %q, want %q in it", got, row.want)
			}
		})
	}
}

// compiled is the policy as the API server compiles it.
type compiled struct {
	policy                            admissionregistrationv1.ValidatingAdmissionPolicy
	compiler                          *admissioncel.CompositedCompiler
	conditions, validations, wordings admissioncel.ConditionEvaluator // of the validations that have a message expression
}

// oldest is the first version of Kubernetes that has such policies: what compiles there compiles later.
func oldest() *version.Version { return version.MajorMinor(1, 30) }

func compilePolicy(t *testing.T, name string) *compiled {
	t.Helper()
	text, err := find(t, objectsOf(t, objects.Config{}), "ValidatingAdmissionPolicy", "", name).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var p compiled
	if err := yaml.UnmarshalStrict(text, &p.policy); err != nil {
		t.Fatal(err)
	}
	p.compiler, err = admissioncel.NewCompositedCompiler(environment.MustBaseEnvSet(oldest()))
	if err != nil {
		t.Fatal(err)
	}
	with := admissioncel.OptionalVariableDeclarations{HasAuthorizer: true}
	for _, v := range p.policy.Spec.Variables {
		if r := p.compiler.CompileAndStoreVariable(expression{v.Name, v.Expression, cel.AnyType}, with,
			environment.NewExpressions); r.Error != nil {
			t.Errorf("variable %s: %v", v.Name, r.Error)
		}
	}
	var conditions, validations, wordings []admissioncel.ExpressionAccessor
	for _, c := range p.policy.Spec.MatchConditions {
		conditions = append(conditions, expression{c.Name, c.Expression, cel.BoolType})
	}
	for _, v := range p.policy.Spec.Validations {
		validations = append(validations, expression{"", v.Expression, cel.BoolType})
		if v.MessageExpression != "" {
			wordings = append(wordings, expression{"", v.MessageExpression, cel.StringType})
		}
	}
	p.conditions = p.compiler.CompileCondition(conditions, with, environment.NewExpressions)
	p.validations = p.compiler.CompileCondition(validations, with, environment.NewExpressions)
	p.wordings = p.compiler.CompileCondition(wordings, with, environment.NewExpressions)
	for _, e := range []admissioncel.ConditionEvaluator{p.conditions, p.validations, p.wordings} {
		for _, err := range e.CompilationErrors() {
			t.Error(err)
		}
	}
	return &p
}

// refusals returns the messages of all rules that a change of a run in namespace bench breaks, "" if it is allowed or
// the policy does not apply.
func (p *compiled) refusals(t *testing.T, by string, old, now *unstructured.Unstructured, unqueued bool) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bench",
		Labels: map[string]string{"bflow.dev/enabled": "true"}}}
	if unqueued {
		namespace.Labels["bflow.dev/allow-unqueued"] = "true"
	}
	return p.refusalsIn(t, namespace, by, old, now)
}

func (p *compiled) refusalsIn(t *testing.T, namespace *corev1.Namespace, by string, old,
	now *unstructured.Unstructured) string {
	t.Helper()
	gvr := schema.GroupVersionResource{Group: "tekton.dev", Version: "v1", Resource: "pipelineruns"}
	return p.judge(t, request{by: by, resource: gvr, kind: gvr.GroupVersion().WithKind("PipelineRun"), old: old, now: now},
		namespace)
}

// request is a request to an API server.
type request struct {
	by          string
	resource    schema.GroupVersionResource
	subresource string
	kind        schema.GroupVersionKind
	old, now    *unstructured.Unstructured // old is nil for one that is made
}

// judge returns the messages of all rules that a request breaks, "" if it is allowed or the policy does not apply.
func (p *compiled) judge(t *testing.T, q request, namespace *corev1.Namespace) string {
	t.Helper()
	operation := admission.Create
	var before runtime.Object
	if q.old != nil {
		operation, before = admission.Update, q.old
	}
	attributes := admission.NewAttributesRecord(q.now, before, q.kind, namespace.Name, q.now.GetName(), q.resource,
		q.subresource, operation, nil, false, &user.DefaultInfo{Name: q.by})
	versioned := &admission.VersionedAttributes{Attributes: attributes, VersionedKind: q.kind, VersionedObject: q.now,
		VersionedOldObject: before}
	request := admissioncel.CreateAdmissionRequest(attributes, metav1.GroupVersionResource(q.resource),
		metav1.GroupVersionKind(q.kind))
	evaluate := func(e admissioncel.ConditionEvaluator) []admissioncel.EvaluationResult {
		ctx := p.compiler.CreateContext(context.Background())
		results, _, err := e.ForInput(ctx, versioned, request, admissioncel.OptionalVariableBindings{Authorizer: rights{}},
			namespace, celconfig.RuntimeCELCostBudget)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r.Error != nil {
				t.Errorf("%s: %v", r.ExpressionAccessor.GetExpression(), r.Error)
			}
		}
		return results
	}
	for _, r := range evaluate(p.conditions) {
		if r.EvalResult != nil && r.EvalResult.Value() != true {
			return ""
		}
	}
	var messages []string
	wordings := evaluate(p.wordings)
	for i, r := range evaluate(p.validations) {
		message := p.policy.Spec.Validations[i].Message
		if message == "" {
			message, wordings = wordings[0].EvalResult.Value().(string), wordings[1:]
		}
		if r.EvalResult != nil && r.EvalResult.Value() != true {
			messages = append(messages, message)
		}
	}
	return strings.Join(messages, "\n")
}

type expression struct {
	name, text string
	kind       *cel.Type
}

func (e expression) GetName() string          { return e.name }
func (e expression) GetExpression() string    { return e.text }
func (e expression) ReturnTypes() []*cel.Type { return []*cel.Type{e.kind} }

// rights lets only the administrator delete namespaces, and only tasks of runs use devices.
type rights struct{}

func (rights) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	what := a.GetVerb() + " " + a.GetResource() + "." + a.GetAPIGroup()
	if by := a.GetUser().GetName(); by == administrator && what == "delete namespaces." || by == theRunner &&
		what == "use devices.bflow.dev" {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}
