package devices

import (
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
)

// addSlices adds the devices of dynamic resource allocation to the nodes that offer them. A device of driver
// gpu.nvidia.com and type "gpu" counts as resource gpu.nvidia.com/gpu. Left out are devices that no single node owns
// (fabric-attached pools), those that are tainted (ill or kept), and old or unfinished versions of a pool.
func addSlices(nodes map[string]*Node, offered []resourcev1.ResourceSlice) {
	current := newestPools(offered)
	for i := range offered {
		s := &offered[i]
		pool := poolKey(s)
		if !dynamicDriver(s.Spec.Driver) || s.Spec.Pool.Generation != current[pool].generation || !current[pool].complete() {
			continue
		}
		for j := range s.Spec.Devices {
			d := &s.Spec.Devices[j]
			n := nodes[nodeOfDevice(s, d)]
			if n == nil || tainted(d) || len(d.ConsumesCounters) > 0 && isPartition(s.Spec.Driver, d) {
				continue
			}
			n.addDynamic(pool+"/"+d.Name, deviceAmounts(s.Spec.Driver, d))
		}
	}
}

func (n *Node) addDynamic(id string, one Amounts) {
	n.dynamic[id] = one
	n.Total.add(one)
}

func (n *Node) isDynamic(resource string) bool {
	for _, device := range n.dynamic {
		if device[resource] > 0 {
			return true
		}
	}
	return false
}

// poolVersion is how much of the newest generation of a pool is there.
type poolVersion struct{ generation, seen, want int64 }

func (v poolVersion) complete() bool { return v.seen >= v.want }

func newestPools(offered []resourcev1.ResourceSlice) map[string]poolVersion {
	out := map[string]poolVersion{}
	for i := range offered {
		p, key := offered[i].Spec.Pool, poolKey(&offered[i])
		v, known := out[key]
		if !known || p.Generation > v.generation {
			v = poolVersion{generation: p.Generation, want: p.ResourceSliceCount}
		}
		if p.Generation == v.generation {
			v.seen++
		}
		out[key] = v
	}
	return out
}

func poolKey(s *resourcev1.ResourceSlice) string { return s.Spec.Driver + "/" + s.Spec.Pool.Name }

func nodeOfDevice(s *resourcev1.ResourceSlice, d *resourcev1.Device) string {
	switch {
	case s.Spec.NodeName != nil:
		return *s.Spec.NodeName
	case d.NodeName != nil:
		return *d.NodeName
	default:
		return ""
	}
}

func tainted(d *resourcev1.Device) bool {
	for _, t := range d.Taints {
		if t.Effect == resourcev1.DeviceTaintEffectNoSchedule || t.Effect == resourcev1.DeviceTaintEffectNoExecute {
			return true
		}
	}
	return false
}

// isPartition says whether a device is a slice that could be cut from a card which is listed as a whole beside it: both
// draw on the same counters, and counting both would promise the card twice.
func isPartition(driver string, d *resourcev1.Device) bool {
	kind := attribute(driver, d, "type")
	return kind != "" && kind != "gpu" && kind != "amdgpu"
}

// deviceAmounts is one device: of its resource, and of its product where the driver tells it.
func deviceAmounts(driver string, d *resourcev1.Device) Amounts {
	kind := attribute(driver, d, "type")
	if kind == "" {
		kind = "device"
	}
	out := Amounts{driver + "/" + kind: 1}
	product := attribute(driver, d, "productName")
	if product == "" {
		product = attribute(driver, d, "model")
	}
	if profile := attribute(driver, d, "profile"); profile != "" && product != "" {
		product += "-MIG-" + profile
	}
	if resource := Product(product); resource != "" {
		out[resource] = 1
	}
	return out
}

// attribute reads a string attribute, which a driver may write with or without its own domain.
func attribute(driver string, d *resourcev1.Device, name string) string {
	for _, key := range []string{name, driver + "/" + name} {
		if a, ok := d.Attributes[resourcev1.QualifiedName(key)]; ok && a.StringValue != nil {
			return strings.TrimSpace(*a.StringValue)
		}
	}
	return ""
}

// holdClaim counts the devices that were allocated to a claim. Access for administrators holds nothing.
func (inv *Inventory) holdClaim(claim *resourcev1.ResourceClaim, holder Holder) {
	if claim.Status.Allocation == nil {
		return
	}
	for _, r := range claim.Status.Allocation.Devices.Results {
		if r.AdminAccess != nil && *r.AdminAccess {
			continue
		}
		id := r.Driver + "/" + r.Pool + "/" + r.Device
		for _, n := range inv.Nodes {
			if one, ok := n.dynamic[id]; ok {
				inv.hold(n, holder, one)
			}
		}
	}
}
