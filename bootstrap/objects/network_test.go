package objects_test

import (
	"slices"
	"testing"

	"bflow.dev/bflow/bootstrap/objects"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// place is one end of a connection: a pod, or something outside the cluster's pods, which has no labels.
type place struct {
	namespace string // "" outside
	labels    map[string]string
}

// network judges connections by NetworkPolicies as Kubernetes defines them: a pod that no policy selects is open, and
// both ends have to allow a connection. Our policies have no addresses, so a rule with peers means pods.
type network struct {
	t          *testing.T
	policies   []networkingv1.NetworkPolicy
	namespaces map[string]map[string]string // labels
}

func networkOf(t *testing.T, all []*unstructured.Unstructured) network {
	t.Helper()
	n := network{t: t, namespaces: map[string]map[string]string{}}
	for _, o := range all {
		switch o.GetKind() {
		case "Namespace":
			n.namespaces[o.GetName()] = o.GetLabels()
		case "NetworkPolicy":
			var p networkingv1.NetworkPolicy
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &p); err != nil {
				t.Fatal(err)
			}
			n.policies = append(n.policies, p)
		}
	}
	return n
}

// allows reports whether a connection is possible.
func (n network) allows(from, to place, protocol corev1.Protocol, port int32) bool {
	out, in := true, true
	for i, p := range n.of(from, networkingv1.PolicyTypeEgress) {
		out = i > 0 && out || slices.ContainsFunc(p.Spec.Egress, func(r networkingv1.NetworkPolicyEgressRule) bool {
			return n.ports(r.Ports, protocol, port) && n.peers(r.To, p.Namespace, to)
		})
	}
	for i, p := range n.of(to, networkingv1.PolicyTypeIngress) {
		in = i > 0 && in || slices.ContainsFunc(p.Spec.Ingress, func(r networkingv1.NetworkPolicyIngressRule) bool {
			return n.ports(r.Ports, protocol, port) && n.peers(r.From, p.Namespace, from)
		})
	}
	return out && in
}

// of returns the policies that select a pod for a direction.
func (n network) of(at place, direction networkingv1.PolicyType) (all []networkingv1.NetworkPolicy) {
	for _, p := range n.policies {
		if p.Namespace == at.namespace && n.selects(&p.Spec.PodSelector, at.labels) &&
			slices.Contains(p.Spec.PolicyTypes, direction) {
			all = append(all, p)
		}
	}
	return all
}

func (n network) ports(all []networkingv1.NetworkPolicyPort, protocol corev1.Protocol, port int32) bool {
	return len(all) == 0 || slices.ContainsFunc(all, func(p networkingv1.NetworkPolicyPort) bool {
		return *p.Protocol == protocol && *p.Port == intstr.FromInt32(port)
	})
}

func (n network) peers(all []networkingv1.NetworkPolicyPeer, beside string, other place) bool {
	return len(all) == 0 || slices.ContainsFunc(all, func(p networkingv1.NetworkPolicyPeer) bool {
		if p.IPBlock != nil {
			n.t.Fatal("a policy names addresses, which this test does not know")
		}
		namespace := other.namespace == beside
		if p.NamespaceSelector != nil {
			namespace = other.namespace != "" && n.selects(p.NamespaceSelector, n.namespaces[other.namespace])
		}
		return namespace && (p.PodSelector == nil || n.selects(p.PodSelector, other.labels))
	})
}

func (n network) selects(selector *metav1.LabelSelector, of map[string]string) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		n.t.Fatal(err)
	}
	return s.Matches(labels.Set(of))
}

// TestNetworkPoliciesLetThroughWhatRunsNeed and nothing else.
func TestNetworkPoliciesLetThroughWhatRunsNeed(t *testing.T) {
	n := networkOf(t, objectsOf(t, full()))
	n.namespaces["monitoring"] = map[string]string{contract.Prefix + "scrapes": "true"}
	n.namespaces["openshift-monitoring"] = map[string]string{"network.openshift.io/policy-group": "monitoring"}
	n.namespaces["default"] = map[string]string{}
	pod := func(namespace string, pairs ...string) place {
		p := place{namespace: namespace, labels: map[string]string{"app.kubernetes.io/managed-by": "somebody"}}
		for i := 0; i < len(pairs); i += 2 {
			p.labels[pairs[i]] = pairs[i+1]
		}
		return p
	}
	var (
		outside    = place{} // the internet, a node, a control plane and its API server
		task       = pod("bench", contract.LabelPlanHash, "h", contract.LabelRun, "r")
		elsewhere  = pod("nightly", contract.LabelPlanHash, "h", contract.LabelRun, "r")
		experiment = pod("bench", contract.LabelToken, contract.TokenSubmit)
		engine     = pod("bench", contract.LabelPlanHash, "h", contract.LabelRun, "r", contract.LabelRole,
			contract.RoleEngine)
		other = pod("bench", contract.LabelPlanHash, "g", contract.LabelRun, "s", contract.LabelRole,
			contract.RoleEngine)
		router = pod("bench", contract.LabelPlanHash, "h", contract.LabelRun, "r", contract.LabelRole,
			contract.RoleRouter)
		results    = pod("bench", contract.LabelRun, "r", contract.LabelRole, contract.RoleResults)
		doctor     = pod("bench", contract.LabelRole, contract.RoleDoctor)
		controller = pod(contract.NamespaceSystem, "app.kubernetes.io/name", contract.AccountController)
		strangers  = pod("bench")
		scraper    = pod("monitoring")
		thanos     = pod("openshift-monitoring")
		web        = pod("default")
		tcp, udp   = corev1.ProtocolTCP, corev1.ProtocolUDP
	)
	for _, row := range []struct {
		name     string
		from, to place
		protocol corev1.Protocol
		port     int32
		want     bool
	}{
		{"a task calls the model server", task, engine, tcp, 8000, true},
		{"and scrapes it on a port of its own", task, engine, tcp, 8002, true},
		{"a task of another namespace does not", elsewhere, engine, tcp, 8000, false},
		{"nor a pod of somebody beside it", strangers, engine, tcp, 8000, false},
		{"nor another model server", other, engine, tcp, 8000, false},
		{"nor anybody from outside", outside, engine, tcp, 8000, false},
		{"a Prometheus scrapes it from a namespace that says so", scraper, engine, tcp, 8000, true},
		{"and that of OpenShift", thanos, engine, tcp, 8000, true},
		{"and none from elsewhere", web, engine, tcp, 8000, false},
		{"a model server asks for names", engine, outside, udp, 53, true},
		{"and fetches weights", engine, outside, tcp, 443, true},
		{"and does not reach an API server", engine, outside, tcp, 6443, false},
		{"nor a task", engine, task, tcp, 443, false},
		{"nor a router", engine, router, tcp, 443, false},
		{"a router calls the model server", router, engine, tcp, 8000, true},
		{"and asks the API server which there are", router, outside, tcp, 6443, true},
		{"a task calls the router", task, router, tcp, 8081, true},
		{"a Prometheus scrapes it", scraper, router, tcp, 9090, true},
		{"and nobody else calls it", strangers, router, tcp, 8081, false},
		{"nor the results of a run", engine, results, tcp, 8080, false},
		{"nor the metrics of the controller", engine, controller, tcp, 8080, false},
		{"a task asks for names", task, outside, udp, 53, true},
		{"a task asks the API server", task, outside, tcp, 6443, true},
		{"a task goes to an endpoint that an experiment names", task, web, tcp, 12345, true},
		{"nobody calls a task", strangers, task, tcp, 8080, false},
		{"not even another one", task, task, tcp, 8080, false},
		{"an experiment asks the API server", experiment, outside, tcp, 6443, true},
		{"and a git server", experiment, outside, tcp, 443, true},
		{"and nobody calls it", task, experiment, tcp, 8080, false},
		{"the API server's proxy reaches results", outside, results, tcp, 8080, true},
		{"on no other port", outside, results, tcp, 22, false},
		{"results go nowhere", results, outside, tcp, 443, false},
		{"not even for names", results, outside, udp, 53, false},
		{"the doctor tries the internet", doctor, outside, tcp, 443, true},
		{"and nobody calls it", web, doctor, tcp, 8080, false},
		{"Prometheus scrapes the controller", web, controller, tcp, 8080, true},
		{"the kubelet asks for its health", outside, controller, tcp, 8081, true},
		{"nobody asks it for anything else", web, controller, tcp, 6060, false},
		{"the controller goes to API servers", controller, outside, tcp, 6443, true},
		{"what belongs to others stays as it is", web, strangers, tcp, 80, true},
		{"in both directions", strangers, outside, tcp, 25, true},
	} {
		if got := n.allows(row.from, row.to, row.protocol, row.port); got != row.want {
			t.Errorf("%s: %v", row.name, got)
		}
	}
}

func TestNetworkPoliciesAreThereWhenTheyAreAskedFor(t *testing.T) {
	if n := networkOf(t, objectsOf(t, objects.Config{})); len(n.policies) > 0 {
		t.Errorf("%d policies that nobody asked for", len(n.policies))
	}
	if n := networkOf(t, targetOf(t, false)); len(n.policies) > 0 {
		t.Errorf("%d policies on a target that nobody asked for", len(n.policies))
	}
}

func targetOf(t *testing.T, policies bool) []*unstructured.Unstructured {
	t.Helper()
	all, err := objects.Target{Name: "worker", Hub: "h", Namespaces: []string{"bench", "nightly"},
		NetworkPolicies: policies}.Objects()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestNetworkPoliciesOfATarget allow what a hub does there through its API server, whose address is not known.
func TestNetworkPoliciesOfATarget(t *testing.T) {
	n := networkOf(t, targetOf(t, true))
	pod := func(namespace, role string) place {
		return place{namespace: namespace, labels: map[string]string{contract.LabelPlanHash: "h", contract.LabelRun: "r",
			contract.LabelRole: role}}
	}
	outside, strangers := place{}, place{namespace: "bench"}
	tcp, udp := corev1.ProtocolTCP, corev1.ProtocolUDP
	for _, row := range []struct {
		name     string
		from, to place
		protocol corev1.Protocol
		port     int32
		want     bool
	}{
		{"the API server's proxy reaches the files of a Job", outside, pod("bench", contract.RoleLoad), tcp, 8080, true},
		{"in every namespace of runs", outside, pod("nightly", contract.RoleCollect), tcp, 8080, true},
		{"and nobody reaches anything else of it", outside, pod("bench", contract.RoleSmoketest), tcp, 22, false},
		{"not even from beside it", strangers, pod("bench", contract.RoleLoad), tcp, 9090, false},
		{"a Job calls the model server", pod("bench", contract.RoleLoad), pod("bench", contract.RoleEngine), tcp, 8000, true},
		{"and what an experiment names", pod("bench", contract.RoleLoad), outside, tcp, 12345, true},
		{"the API server's proxy asks the model server", outside, pod("bench", contract.RoleEngine), tcp, 8000, true},
		{"which asks for names", pod("bench", contract.RoleEngine), outside, udp, 53, true},
		{"and fetches weights", pod("bench", contract.RoleEngine), outside, tcp, 443, true},
		{"and does not reach an API server", pod("bench", contract.RoleEngine), outside, tcp, 6443, false},
		{"nor another model server", pod("bench", contract.RoleEngine), pod("bench", contract.RoleEngine), tcp, 8000, false},
		{"nor the files of a Job", pod("bench", contract.RoleEngine), pod("bench", contract.RoleLoad), tcp, 8080, false},
		{"what belongs to others stays as it is", outside, strangers, tcp, 80, true},
	} {
		if got := n.allows(row.from, row.to, row.protocol, row.port); got != row.want {
			t.Errorf("%s: %v", row.name, got)
		}
	}
}
