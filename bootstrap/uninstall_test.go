package bootstrap

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/internal/apitest"
)

// installed is a hub with a finished run in bench, and what Kubernetes keeps everywhere. Nothing on it belongs to
// others.
const installed = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: pipelineruns.tekton.dev}
spec: {group: tekton.dev, names: {kind: PipelineRun}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tasks.tekton.dev}
spec: {group: tekton.dev, names: {kind: Task}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: tekton-pipelines-controller, namespace: tekton-pipelines, uid: d1}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: of-the-controller, namespace: tekton-pipelines, uid: r1, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: tekton-pipelines-controller, uid: d1}]}
---
apiVersion: v1
kind: Pod
metadata: {name: of-the-controller, namespace: tekton-pipelines, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: of-the-controller, uid: r1}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: of-a-service, namespace: tekton-pipelines, ownerReferences: [{apiVersion: v1, kind: Service, name: gone, uid: s1}]}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: leader, namespace: tekton-pipelines}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kube-root-ca.crt, namespace: tekton-pipelines}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: tekton-pipelines}
---
apiVersion: v1
kind: Secret
metadata: {name: default-dockercfg-x, namespace: tekton-pipelines, annotations: {kubernetes.io/service-account.name: default}}
---
apiVersion: v1
kind: Event
metadata: {name: e, namespace: tekton-pipelines}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: bflow-load, namespace: bench, labels: {app.kubernetes.io/managed-by: bflow, bflow.dev/part: bflow}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: bflow-runner, namespace: bench, labels: {app.kubernetes.io/managed-by: bflow, bflow.dev/part: bflow}}
---
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: r, namespace: bench, uid: p1, labels: {bflow.dev/plan-hash: h}}
status: {conditions: [{type: Succeeded, status: "True"}]}
---
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: r-provision, namespace: bench, ownerReferences: [{apiVersion: tekton.dev/v1, kind: PipelineRun, name: r, uid: p1}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: of-r, namespace: bench, ownerReferences: [{apiVersion: tekton.dev/v1, kind: PipelineRun, name: r, uid: p1}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: plan, namespace: bench, labels: {app.kubernetes.io/managed-by: bflow}}
`

// filledHub serves what is installed. Deleting a namespace deletes what is in it, as its controller does.
func filledHub(t *testing.T) (*apitest.Server, *Hub, *strings.Builder) {
	t.Helper()
	s := apitest.New(t, "bflow-system", "bench", "tekton-pipelines")
	identify(s)
	s.Add(t, installed)
	s.OnDelete(func(q apitest.Request, _ apitest.Object) {
		s.Remove(q.Path)
		if q.Resource == "namespaces" {
			for _, path := range s.List("/") {
				if strings.Contains(path, "/namespaces/"+q.Name+"/") {
					s.Remove(path)
				}
			}
		}
	})
	namespace := func(name string) Entry { return Entry{Ref: apply.Ref{Kind: "Namespace", Name: name}} }
	account := func(name string) Entry {
		return Entry{Ref: apply.Ref{Kind: "ServiceAccount", Namespace: "bench", Name: name}}
	}
	crd := func(name string) Entry {
		return Entry{Ref: apply.Ref{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: name}}
	}
	inv := Inventory{Settings: Settings{Namespaces: []string{"bench"}, Versions: map[string]string{partBflow: "v1"}},
		Parts: map[string][]Entry{
			partBflow: {namespace("bflow-system"), namespace("bench"), account("bflow-load"), account("bflow-runner"),
				{Ref: inventoryRef()}},
			partTekton: {namespace("tekton-pipelines"), crd("pipelineruns.tekton.dev"), crd("tasks.tekton.dev"),
				{Ref: apply.Ref{Group: "apps", Kind: "Deployment", Namespace: "tekton-pipelines",
					Name: "tekton-pipelines-controller"}}},
		}}
	object, err := inv.Object()
	must(t, err)
	s.Put("/api/v1/namespaces/bflow-system/configmaps/bflow-inventory", object.Object)
	var said strings.Builder
	hub, err := Connect(s.Config(), &said)
	must(t, err)
	return s, hub, &said
}

// names returns what follows a part of a path, for all paths that contain it.
func names(s *apitest.Server, contains string) []string {
	var out []string
	for _, path := range s.List("/") {
		if _, rest, ok := strings.Cut(path, contains); ok {
			out = append(out, rest)
		}
	}
	return out
}

func TestAnUninstallationLeavesNothingOfOurs(t *testing.T) {
	s, hub, _ := filledHub(t)
	must(t, hub.Uninstall(t.Context(), UninstallOptions{Data: true}))
	if left := s.List("/"); !slices.Equal(left, []string{"/api/v1/namespaces/kube-system"}) {
		t.Errorf("left %q", left)
	}
}

func TestAnUninstallationKeepsWhatIsOfOthers(t *testing.T) {
	for _, row := range []struct{ name, object, path, stays, says string }{
		{"a Trigger in Tekton's namespace",
			"apiVersion: triggers.tekton.dev/v1beta1\nkind: EventListener\nmetadata: {name: theirs, namespace: " +
				"tekton-pipelines}",
			"/tekton-pipelines/eventlisteners/theirs", "tekton-pipelines", `EventListener "theirs"`},
		{"a ConfigMap there", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, namespace: tekton-pipelines}",
			"/tekton-pipelines/configmaps/theirs", "tekton-pipelines", `ConfigMap "theirs"`},
		{"an object of a kind that nobody has heard of",
			"apiVersion: example.com/v7\nkind: Widget\nmetadata: {name: theirs, namespace: bench}",
			"/bench/widgets/theirs", "bench", `Widget "theirs"`},
		{"a volume beside runs", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: theirs, namespace: bench}",
			"/bench/persistentvolumeclaims/theirs", "bench", `PersistentVolumeClaim "theirs"`},
		{"a Secret beside runs", "apiVersion: v1\nkind: Secret\nmetadata: {name: theirs, namespace: bench}",
			"/bench/secrets/theirs", "bench", `Secret "theirs"`},
		{"a Secret whose owner is of a kind that is lost",
			"apiVersion: v1\nkind: Secret\nmetadata: {name: theirs, namespace: bench, ownerReferences: [{apiVersion: " +
				"lost.example/v1, kind: Thing, name: x, uid: u}]}",
			"/bench/secrets/theirs", "bench", `Secret "theirs"`},
		{"a Secret beside the controller", "apiVersion: v1\nkind: Secret\nmetadata: {name: theirs, namespace: bflow-system}",
			"/bflow-system/secrets/theirs", "bflow-system", `Secret "theirs"`},
		{"the account of another hub, whose target this is", "apiVersion: v1\nkind: ServiceAccount\n" +
			"metadata: {name: bflow-agent, namespace: bflow-system, labels: {app.kubernetes.io/managed-by: bflow, " +
			"bflow.dev/hub: another}}",
			"/bflow-system/serviceaccounts/bflow-agent", "bflow-system", `ServiceAccount "bflow-agent"`},
		{"a model server of another hub, whose target this is", "apiVersion: apps/v1\nkind: Deployment\n" +
			"metadata: {name: engine, namespace: bench, labels: {app.kubernetes.io/managed-by: bflow, bflow.dev/run: " +
			"theirs, bflow.dev/hub: another}}",
			"/bench/deployments/engine", "bench", `Deployment "engine"`},
		{"a Task elsewhere", "apiVersion: tekton.dev/v1\nkind: Task\nmetadata: {name: theirs, namespace: lab}",
			"/lab/tasks/theirs", "/customresourcedefinitions/tasks.tekton.dev", `others have objects of it: Task "theirs"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, hub, said := filledHub(t)
			s.Add(t, row.object)
			must(t, hub.Uninstall(t.Context(), UninstallOptions{Data: true}))
			all := s.List("/")
			for _, want := range []string{row.path, row.stays} {
				if !slices.ContainsFunc(all, func(path string) bool { return strings.HasSuffix(path, want) }) {
					t.Errorf("%s is gone; left %q", want, all)
				}
			}
			if !strings.Contains(said.String(), row.says) || !strings.Contains(said.String(), "stays: ") {
				t.Errorf("said\n%s", said)
			}
			if got := names(s, "/bench/pipelineruns/"); len(got) > 0 {
				t.Errorf("results were to go, and %q are there", got)
			}
			s.Remove(all[slices.IndexFunc(all, func(path string) bool { return strings.HasSuffix(path, row.path) })])
			must(t, hub.Uninstall(t.Context(), UninstallOptions{Data: true}))
			if left := s.List("/"); !slices.Equal(left, []string{"/api/v1/namespaces/kube-system"}) {
				t.Errorf("a second call, when they have taken it away, leaves %q", left)
			}
		})
	}
}

// TestResultsThatStayCanBeFetched: the pod that serves them runs as account bflow-load, and finds them by the objects
// of the run.
func TestResultsThatStayCanBeFetched(t *testing.T) {
	s, hub, said := filledHub(t)
	s.Add(t, "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: theirs, namespace: bench}")
	must(t, hub.Uninstall(t.Context(), UninstallOptions{}))
	want := []string{"configmaps/plan", "persistentvolumeclaims/of-r", "persistentvolumeclaims/theirs",
		"serviceaccounts/bflow-load",
		"pipelineruns/r", "taskruns/r-provision"}
	if got := names(s, "/namespaces/bench/"); !slices.Equal(got, want) {
		t.Errorf("left in the namespace of runs: %q, want %q", got, want)
	}
	if got := names(s, "/customresourcedefinitions/"); !slices.Equal(got, []string{"pipelineruns.tekton.dev"}) {
		t.Errorf("left of the kinds: %q", got)
	}
	if got := names(s, "/namespaces/tekton-pipelines"); len(got) > 0 {
		t.Errorf("Tekton's namespace is there: %q", got)
	}
	for _, says := range []string{"bflow fetch RUN -n bench", "it holds data of runs",
		`others have objects in it: PersistentVolumeClaim "theirs"`} {
		if !strings.Contains(said.String(), says) {
			t.Errorf("%q is not among\n%s", says, said)
		}
	}
}

func TestOnlyResultsOfRunsAreAskedAbout(t *testing.T) {
	s, hub, _ := filledHub(t)
	s.Add(t, "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: theirs, namespace: bench}")
	asked := ""
	must(t, hub.Uninstall(t.Context(), UninstallOptions{
		Ask: func(question string) bool { asked = question; return false }}))
	if asked != "1 runs, 1 volumes with results would go as well. Delete that too?" {
		t.Errorf("asked %q", asked)
	}
}

func TestANamespaceThatCannotBeLookedIntoStays(t *testing.T) {
	s, hub, said := filledHub(t)
	s.Serve("example.com/v1", "Widget", true)
	s.Refuse(func(q apitest.Request) (int, string) {
		if q.Resource == "widgets" && q.Namespace == "tekton-pipelines" {
			return http.StatusForbidden, "you may not " + q.String()
		}
		return 0, ""
	})
	must(t, hub.Uninstall(t.Context(), UninstallOptions{Data: true}))
	if s.Get("/api/v1/namespaces/tekton-pipelines") == nil ||
		!strings.Contains(said.String(),
			`Namespace "tekton-pipelines" stays: looking into namespace "tekton-pipelines": listing widgets.example.com`) {
		t.Errorf("said\n%s", said)
	}
	if s.Get("/api/v1/namespaces/bench") != nil {
		t.Error("another namespace stays with it")
	}
}

// TestANamespaceThatWasThereBeforeIsGivenBack: with the objects of its owners, and without results if these may be
// deleted.
func TestANamespaceThatWasThereBeforeIsGivenBack(t *testing.T) {
	s, hub, _ := filledHub(t)
	s.Add(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: theirs, namespace: bench}")
	s.Change("/api/v1/namespaces/bflow-system/configmaps/bflow-inventory", func(o apitest.Object) {
		data := o["data"].(apitest.Object)
		data[partBflow] = strings.Replace(data[partBflow].(string), "/Namespace//bench", "/Namespace//bench shared", 1)
	})
	must(t, hub.Uninstall(t.Context(), UninstallOptions{}))
	if got := names(s, "/bench/persistentvolumeclaims/"); len(got) != 1 {
		t.Errorf("volumes with results: %q", got)
	}
	must(t, hub.Uninstall(t.Context(), UninstallOptions{Data: true}))
	if got := names(s, "/namespaces/bench"); !slices.Equal(got, []string{"", "/secrets/theirs"}) {
		t.Errorf("left %q", got)
	}
}
