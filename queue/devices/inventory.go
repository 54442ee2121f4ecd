package devices

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Inventory is what a cluster has of devices. Nodes are in the order of their names; those without devices are left
// out.
type Inventory struct {
	Nodes []*Node
	Held  map[types.NamespacedName]Amounts // what each run holds that holds quota, on any node

	leaked Amounts
}

// Of returns the devices of nodes: those that device plugins told the kubelet, and those in slices of dynamic resource
// allocation. Nobody holds any of them: see Hold.
func Of(nodes []corev1.Node, offered []resourcev1.ResourceSlice) *Inventory {
	byName := map[string]*Node{}
	for i := range nodes {
		byName[nodes[i].Name] = nodeOf(&nodes[i])
	}
	addSlices(byName, offered)
	inv := &Inventory{Held: map[types.NamespacedName]Amounts{}, leaked: Amounts{}}
	for _, name := range sorted(byName) {
		if n := byName[name]; len(n.Total) > 0 {
			inv.Nodes = append(inv.Nodes, n)
		}
	}
	return inv
}

// Holder is whose a pod or claim is. The zero value is foreign: somebody else, another hub, or a run whose quota was
// given back. It takes from what a queue may promise.
type Holder struct {
	Run types.NamespacedName // that holds quota here
	// of a run of this hub without a right to it: nobody could remove it yet. It is foreign too
	Leaked bool
}

func (h Holder) foreign() bool { return h.Run.Name == "" }

// Owner tells whose a pod or claim is by its namespace and its labels: two teams may have runs of one name, and on
// every target they lie in the namespaces of their teams.
type Owner func(namespace string, labels map[string]string) Holder

// Hold counts what pods and claims hold. It may be called once on what Of returned.
func (inv *Inventory) Hold(pods []corev1.Pod, claims []resourcev1.ResourceClaim, owner Owner) {
	byName := map[string]*Node{}
	for _, n := range inv.Nodes {
		byName[n.Name] = n
	}
	runs := map[types.UID]Holder{} // of our pods: a claim made for one of them is its run's
	for i := range pods {
		p := &pods[i]
		holder := owner(p.Namespace, p.Labels)
		if !holder.foreign() {
			runs[p.UID] = holder
		}
		if n := byName[NodeOf(p)]; n != nil {
			inv.hold(n, holder, n.withProducts(OfPod(p)))
		}
	}
	for i := range claims {
		holder := owner(claims[i].Namespace, claims[i].Labels)
		for _, consumer := range claims[i].Status.ReservedFor {
			if holder == (Holder{}) {
				holder = runs[consumer.UID]
			}
		}
		inv.holdClaim(&claims[i], holder)
	}
}

// hold counts only what the node has: a pod may have been bound before a device plugin went.
func (inv *Inventory) hold(n *Node, holder Holder, a Amounts) {
	for name, count := range a {
		if _, known := n.Total[name]; !known {
			continue
		}
		if holder.foreign() {
			n.Foreign[name] += count
			if holder.Leaked {
				inv.leaked[name] += count
			}
			continue
		}
		n.Ours[name] += count
		if inv.Held[holder.Run] == nil {
			inv.Held[holder.Run] = Amounts{}
		}
		inv.Held[holder.Run][name] += count
	}
}

// Total is what all nodes have that take pods.
func (inv *Inventory) Total() Amounts {
	return inv.sum(func(n *Node) Amounts {
		if n.Lost != "" {
			return n.Total.less(n.Total)
		}
		return n.Total
	})
}

// Full is what all nodes have on their best day, also those that take no pods now.
func (inv *Inventory) Full() Amounts { return inv.sum((*Node).Full) }

// Ours is what runs hold that hold quota.
func (inv *Inventory) Ours() Amounts { return inv.sum(func(n *Node) Amounts { return n.Ours }) }

// Foreign is what others hold.
func (inv *Inventory) Foreign() Amounts { return inv.sum(func(n *Node) Amounts { return n.Foreign }) }

// Leaked is what of Foreign is held by runs of this hub that have no right to it any more.
func (inv *Inventory) Leaked() Amounts { return inv.leaked }

// Free is what nobody holds, on nodes that take pods.
func (inv *Inventory) Free() Amounts { return inv.sum((*Node).Free) }

// Quota is what a queue may promise to runs: every resource and every product of every node, also those of which there
// is nothing at present.
func (inv *Inventory) Quota() Amounts { return inv.sum((*Node).Quota) }

func (inv *Inventory) sum(of func(*Node) Amounts) Amounts {
	out := Amounts{}
	for _, n := range inv.Nodes {
		out.add(of(n))
	}
	return out
}

// Lost lists the nodes that take no pods, as "gpu-3 (cordoned)".
func (inv *Inventory) Lost() []string { return inv.lostOf(func(*Node) bool { return true }) }

func (inv *Inventory) lostOf(which func(*Node) bool) []string {
	var out []string
	for _, n := range inv.Nodes {
		if n.Lost != "" && which(n) {
			out = append(out, n.Name+" ("+n.Lost+")")
		}
	}
	return out
}

// Group is one kind of device of one product: what bootstrap and doctor show.
type Group struct {
	Resource string // "nvidia.com/gpu"
	Product  string // its resource in a queue, "" where no label tells
	Nodes    int
	Total    int64 // on nodes that take pods
}

// Groups lists the kinds of devices, by resource and product.
func (inv *Inventory) Groups() []Group {
	byKey := map[string]*Group{}
	for _, n := range inv.Nodes {
		for name, count := range n.kinds() {
			resource, product, _ := strings.Cut(name, " ")
			if byKey[name] == nil {
				byKey[name] = &Group{Resource: resource, Product: product}
			}
			byKey[name].Nodes++
			if n.Lost == "" {
				byKey[name].Total += count
			}
		}
	}
	var out []Group
	for _, key := range sorted(byKey) {
		out = append(out, *byKey[key])
	}
	return out
}

// kinds are the devices of a node by "resource product".
func (n *Node) kinds() Amounts {
	out := Amounts{}
	for name, count := range n.Total {
		if IsDevice(name) && !n.isDynamic(name) {
			out[name+" "+n.product[name]] += count
		}
	}
	for _, device := range n.dynamic {
		var resource, product string
		for name := range device {
			if IsProduct(name) {
				product = name
			} else {
				resource = name
			}
		}
		out[resource+" "+product]++
	}
	return out
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
