package bootstrap

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/internal/apitest"
	queuetarget "bflow.dev/bflow/queue/target"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// hubServer is a hub where bflow is installed, with runs in bench.
func hubServer(t *testing.T) (*apitest.Server, *Hub, *strings.Builder) {
	t.Helper()
	s := apitest.New(t, "bflow-system", "bench")
	identify(s)
	for _, kind := range []string{"ResourceFlavor", "ClusterQueue", "AdmissionCheck"} {
		s.Serve("kueue.x-k8s.io/v1beta2", kind, false)
	}
	s.ServeRuns()
	inv := Inventory{Settings: Settings{Namespaces: []string{"bench"}, Versions: map[string]string{partBflow: "v1"}},
		Parts: map[string][]Entry{partBflow: {{Ref: inventoryRef()}}}}
	object, err := inv.Object()
	if err != nil {
		t.Fatal(err)
	}
	s.Put("/api/v1/namespaces/bflow-system/configmaps/bflow-inventory", object.Object)
	s.Put(ofController, apitest.Object{"spec": apitest.Object{"replicas": 1}})
	var said strings.Builder
	hub, err := Connect(s.Config(), &said)
	if err != nil {
		t.Fatal(err)
	}
	return s, hub, &said
}

// identify gives a cluster an identity of its own.
func identify(s *apitest.Server) {
	s.Put("/api/v1/namespaces/kube-system", apitest.Object{"metadata": apitest.Object{"uid": "of " + s.URL}})
}

// farServer is a cluster that can become a target, and its kubeconfig.
func farServer(t *testing.T) (*apitest.Server, string) {
	t.Helper()
	s := apitest.New(t)
	identify(s)
	for kind, namespaced := range map[string]bool{"Role": true, "RoleBinding": true, "ClusterRole": false,
		"ClusterRoleBinding": false} {
		s.Serve("rbac.authorization.k8s.io/v1", kind, namespaced)
	}
	path, err := s.Kubeconfig(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return s, path
}

// controllers play Kueue and bflow-controller until the test ends: whatever is made works, and is in sight.
func controllers(t *testing.T, s *apitest.Server, now queuetarget.Status) {
	t.Helper()
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	active := apitest.Object{"conditions": []any{apitest.Object{"type": "Active", "status": "True"}}}
	go func() {
		for {
			for _, path := range s.List("/apis/kueue.x-k8s.io/") {
				if o := s.Get(path); o != nil && o["kind"] != "ResourceFlavor" && o["status"] == nil {
					s.Change(path, func(o apitest.Object) { o["status"] = active })
				}
			}
			for _, path := range s.List("/api/v1/namespaces/bflow-system/secrets/bflow-target-") {
				told := strings.Replace(path, "secrets", "configmaps", 1)
				if s.Get(told) == nil {
					cm, _ := now.ConfigMap("x")
					s.Put(told, apitest.Object{"data": apitest.Object{queuetarget.StatusKey: cm.Data[queuetarget.StatusKey]}})
				}
			}
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond): //nolint:forbidigo // as often as these controllers look
			}
		}
	}()
}

func inSight() queuetarget.Status {
	return queuetarget.Status{Up: true, Since: time.Unix(1000, 0).UTC(), Complete: true, Version: "v1.34.4",
		Devices: map[string]queuetarget.DeviceCount{"nvidia.com/gpu": {Total: 8, Free: 5, Foreign: 3}}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheLifeOfATarget(t *testing.T) {
	s, hub, said := hubServer(t)
	far, path := farServer(t)
	before, beforeThere := s.List("/"), far.List("/")
	controllers(t, s, inSight())
	o := TargetOptions{Name: "far", Kubeconfig: path, Version: "v1", Labels: map[string]string{"region": "eu"}}
	must(t, hub.AddTarget(t.Context(), o, nil))
	if !strings.Contains(said.String(), "the controller reaches it: 8 nvidia.com/gpu, 5 free") {
		t.Errorf("said\n%s", said)
	}
	secret := s.Get("/api/v1/namespaces/bflow-system/secrets/bflow-target-far")
	text, _, _ := unstructured.NestedString(secret, "data", "token")
	first, _ := base64.StdEncoding.DecodeString(text)
	if !strings.HasPrefix(string(first), "token-bflow-system-bflow-agent-") {
		t.Errorf("its token is %q", first)
	}
	for _, p := range []string{"localqueues/far", "resourceflavors/far", "clusterqueues/far",
		"admissionchecks/bflow-far"} {
		if !slices.ContainsFunc(s.List("/apis/kueue"), func(have string) bool { return strings.HasSuffix(have, p) }) {
			t.Errorf("there is no %s among %q", p, s.List("/apis/kueue"))
		}
	}
	if err := hub.AddTarget(t.Context(), TargetOptions{Name: "part", Kubeconfig: path, Version: "v1",
		Nodes: map[string]string{"pool": "a"}}, nil); err == nil {
		t.Error("a part of a cluster that is a target whole is another one")
	}
	o.Labels = nil
	must(t, hub.AddTarget(t.Context(), o, nil)) // again
	all, err := hub.Targets(t.Context(), "v1")
	must(t, err)
	if len(all) != 1 || len(all[0].Lacks) > 0 || all[0].Name != "far" || all[0].Labels["region"] != "eu" ||
		all[0].Seen == nil || !all[0].Seen.Up {
		t.Errorf("listed %+v", all)
	}
	inv, err := ReadInventory(t.Context(), hub.cluster)
	must(t, err)
	if len(inv.Parts["target-far"]) != 4 || inv.Settings.Versions["target-far"] != "v1" ||
		inv.Settings.Targets["far"].Labels["region"] != "eu" {
		t.Errorf("the inventory is %+v", inv)
	}
	must(t, hub.RemoveTarget(t.Context(), RemoveOptions{Name: "far", Kubeconfig: path, Version: "v1"}))
	if now := s.List("/"); !slices.Equal(now, before) {
		t.Errorf("left on the hub: %q, before %q", now, before)
	}
	if now := far.List("/"); !slices.Equal(now, beforeThere) {
		t.Errorf("left on the target: %q", now)
	}
	if inv, err := ReadInventory(t.Context(), hub.cluster); err != nil || len(inv.Settings.Targets) > 0 {
		t.Errorf("the inventory is %+v: %v", inv, err)
	}
}

// TestATargetOfEarlierRightsIsSaid: only its administrator can give it the rights of this version.
func TestATargetOfEarlierRightsIsSaid(t *testing.T) {
	s, hub, said := twoTeams(t)
	_, path := farServer(t)
	controllers(t, s, inSight())
	must(t, hub.AddTarget(t.Context(), TargetOptions{Name: "far", Kubeconfig: path, Version: "v1.0.0"}, nil))
	must(t, hub.Install(t.Context(), Options{Version: "v1.0.0"}))
	if strings.Contains(said.String(), "lacks permissions") {
		t.Errorf("said of a target that was added just now\n%s", said)
	}
	s.Change("/api/v1/namespaces/bflow-system/configmaps/bflow-inventory", func(o apitest.Object) {
		data := o["data"].(apitest.Object)
		rights, err := rightsOnTargets()
		must(t, err)
		data[settingsKey] = strings.Replace(data[settingsKey].(string), `"lab": "`+rights, `"lab": "of an earlier version`, 1)
	})
	must(t, hub.Install(t.Context(), Options{Version: "v1.0.0"}))
	if want := `target "far" lacks permissions that this version needs for runs of lab: grant them with bflow target ` +
		`add far --kubeconfig FILE`; !strings.Contains(said.String(), want) {
		t.Errorf("%q is not among\n%s", want, said)
	}
	for version, want := range map[string][]string{"v1.0.0": {"lab"}, "v0.9.0": nil} {
		all, err := hub.Targets(t.Context(), version)
		must(t, err)
		i := slices.IndexFunc(all, func(t TargetState) bool { return t.Name == "far" })
		if i < 0 || !slices.Equal(all[i].Lacks, want) {
			t.Errorf("as %s sees it: %+v, want a lack in %q", version, all, want)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	s, hub, _ := hubServer(t)
	_, path := farServer(t)
	_, elsewhere := farServer(t)
	herself, err := s.Kubeconfig(t.TempDir())
	must(t, err)
	controllers(t, s, inSight())
	add := func(name, file string, edit ...func(*TargetOptions)) error {
		o := TargetOptions{Name: name, Kubeconfig: file, Version: "v1"}
		for _, e := range edit {
			e(&o)
		}
		return hub.AddTarget(t.Context(), o, nil)
	}
	must(t, add("far", path))
	s.Put("/apis/tekton.dev/v1/namespaces/bench/pipelineruns/r", apitest.Object{"metadata": apitest.Object{
		"labels":     apitest.Object{"bflow.dev/plan-hash": "h", "bflow.dev/target": "far"},
		"finalizers": []any{"bflow.dev/release"}}})
	for _, row := range []struct {
		name string
		err  error
		want string
	}{
		{"the hub itself", add("other", herself), `is the hub itself, whose target is named "local"`},
		{"one cluster under two names", add("other", path), `is already target "far"`},
		{"another cluster under a name that is taken", add("far", elsewhere), "that name belongs to another cluster"},
		{"a namespace that is none of the hub's", add("other", elsewhere,
			func(o *TargetOptions) { o.Namespaces = []string{"lab"} }),
			`namespace "lab" is not one of the hub's namespaces for runs (bench)`},
		{"a target that is not there", hub.RemoveTarget(t.Context(), RemoveOptions{Name: "x", Version: "v1"}),
			"it has far, local"},
		{"the hub itself is not removed", hub.RemoveTarget(t.Context(), RemoveOptions{Name: "local", Version: "v1"}),
			"bflow bootstrap uninstall"},
		{"removal here only", hub.RemoveTarget(t.Context(), RemoveOptions{Name: "far", Version: "v1"}),
			"leave its objects there with --force"},
		{"a target with runs", hub.RemoveTarget(t.Context(), RemoveOptions{Name: "far", Kubeconfig: path, Version: "v1"}),
			"it has active runs: 1, r first"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.err == nil || !strings.Contains(row.err.Error(), row.want) || strings.Contains(row.err.Error(), "\n") {
				t.Errorf("got %v, want a sentence with %q", row.err, row.want)
			}
		})
	}
	policy, _, _ := unstructured.NestedString(s.Get("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/far"), "spec",
		"stopPolicy")
	if policy != "Hold" {
		t.Errorf("the queue of a target that is being removed is %q", policy)
	}
	s.Remove(ofController)
	err = hub.RemoveTarget(t.Context(), RemoveOptions{Name: "far", Kubeconfig: path, Version: "v1", Wait: time.Hour})
	if err == nil || !strings.Contains(err.Error(), "bflow delete --force --yes r -n bench") {
		t.Errorf("without a controller: %v", err)
	}
	must(t, hub.RemoveTarget(t.Context(), RemoveOptions{Name: "far", Force: true, Version: "v1"}))
	s.Remove("/api/v1/namespaces/bench")
	n := len(s.Requests())
	if err := add("far", path); err == nil || !strings.Contains(err.Error(),
		`namespace "bench" of the hub is gone; unregister it with bflow bootstrap namespace remove bench`) {
		t.Errorf("a namespace that somebody has deleted: %v", err)
	}
	if got := writes(s, n); len(got) > 0 {
		t.Errorf("written although it was refused: %q", got)
	}
}

// TestPartsOfACluster: each is a target of its own, and what they share is deleted with the last.
func TestPartsOfACluster(t *testing.T) {
	s, hub, said := hubServer(t)
	far, path := farServer(t)
	beforeThere := far.List("/")
	controllers(t, s, inSight())
	for _, pool := range []string{"a", "b"} {
		must(t, hub.AddTarget(t.Context(), TargetOptions{Name: "far-" + pool, Kubeconfig: path, Version: "v1",
			Nodes: map[string]string{"pool": pool}, LoadNodes: map[string]string{"pool": "cpu"}}, nil))
		notes, _, _ := unstructured.NestedStringMap(s.Get("/api/v1/namespaces/bflow-system/secrets/bflow-target-far-"+pool),
			"metadata", "annotations")
		if notes["bflow.dev/nodes"] != "pool="+pool || notes["bflow.dev/load-nodes"] != "pool=cpu" {
			t.Errorf("its Secret says %v", notes)
		}
	}
	if err := hub.AddTarget(t.Context(), TargetOptions{Name: "more", Kubeconfig: path, Version: "v1",
		Nodes: map[string]string{"zone": "a"}}, nil); err == nil {
		t.Error("nodes of zone a may be of pool a")
	}
	must(t, hub.RemoveTarget(t.Context(), RemoveOptions{Name: "far-a", Kubeconfig: path, Version: "v1"}))
	if slices.Equal(far.List("/"), beforeThere) || !strings.Contains(said.String(),
		`target "far-b" is a part of the same cluster`) {
		t.Errorf("the other part lost what it needs; said\n%s", said)
	}
	must(t, hub.RemoveTarget(t.Context(), RemoveOptions{Name: "far-b", Kubeconfig: path, Version: "v1"}))
	if now := far.List("/"); !slices.Equal(now, beforeThere) {
		t.Errorf("left on the target: %q", now)
	}
}

func TestATargetThatTheHubDoesNotReach(t *testing.T) {
	s, hub, _ := hubServer(t)
	_, path := farServer(t)
	controllers(t, s, queuetarget.Status{Since: time.Unix(1000, 0), Why: "no route to host"})
	err := hub.AddTarget(t.Context(), TargetOptions{Name: "far", Kubeconfig: path, Version: "v1", Wait: 3 * time.Second},
		nil)
	if err == nil ||
		!strings.Contains(err.Error(),
			"cannot reach it: no route to host; its address must be reachable from pods of the hub") {
		t.Errorf("got %v", err)
	}
}

func TestADryRunOfATarget(t *testing.T) {
	s, hub, _ := hubServer(t)
	far, path := farServer(t)
	before, beforeThere := s.List("/"), far.List("/")
	var diff strings.Builder
	must(t, hub.AddTarget(t.Context(), TargetOptions{Name: "far", Kubeconfig: path, Version: "v1"}, &diff))
	if !slices.Equal(before, s.List("/")) || !slices.Equal(beforeThere, far.List("/")) {
		t.Error("it changed something")
	}
	for _, want := range []string{"bflow-agent", "ClusterQueue", "bflow.dev/target"} {
		if !strings.Contains(diff.String(), want) {
			t.Errorf("%q is not in the diff", want)
		}
	}
}

// TestANewNamespaceGetsQueuesOfAllTargets: they are parts of the installation like any other.
func TestANewNamespaceGetsQueuesOfAllTargets(t *testing.T) {
	o := Options{Namespaces: []string{"bench", "lab"}, Version: "v1",
		Targets: map[string]TargetSettings{"far": {}, "only": {Namespaces: []string{"lab"}}}}
	var queues []string
	for _, name := range []string{"far", "only"} {
		for _, u := range queueOf(name, o).Objects {
			if u.GetKind() == "LocalQueue" {
				queues = append(queues, u.GetNamespace()+"/"+u.GetName())
			}
		}
	}
	if !slices.Equal(queues, []string{"bench/far", "lab/far", "lab/only"}) {
		t.Errorf("got %q", queues)
	}
	resumed := Options{}.Resume(o.settings(nil))
	if len(resumed.Targets) != 2 {
		t.Errorf("an installation forgets its targets: %v", resumed.Targets)
	}
}

func TestNamesOfTargets(t *testing.T) {
	for _, row := range []struct{ name, want string }{
		{"far-1", ""}, {"local", "the hub itself"}, {"Far", "lowercase"}, {strings.Repeat("a", 41), "at most 40"},
		{"", "target"},
	} {
		err := TargetOptions{Name: row.name, Kubeconfig: "f"}.Validate()
		if row.want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%q: %v", row.name, err)
		}
	}
}
