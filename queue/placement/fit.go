package placement

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/runplan/contract"
)

// Lack is what a target does not have for a run; the zero value is that it has enough.
type Lack struct {
	Why  string // goes on after "it"; "" for enough
	Ever bool   // not on its best day either: empty, all nodes there, no device ill
}

// Wants is what a run asks for.
type Wants struct {
	All  devices.Amounts // of its queue, slots too
	Pods []devices.Shape // how its pods share the devices
}

// Judge says what target lacks for a run that asks for w: beside what its queue promises to all runs together, which is
// what pods of others and lost nodes leave.
func Judge(target string, w Wants, promised devices.Amounts, inv *devices.Inventory) Lack {
	best := inv.Full()
	best[contract.ResourceSlot] = max(promised[contract.ResourceSlot], contract.TargetSlots)
	var now, ever []string
	for _, name := range slices.Sorted(maps.Keys(w.All)) {
		n := w.All[name]
		switch most := max(best[name], promised[name]); {
		case n > most:
			ever = append(ever, fmt.Sprintf("asks for %d %s, and target %q has %s in all", n, name, target, count(most)))
		case n > promised[name]:
			now = append(now, fmt.Sprintf("asks for %d %s, and target %q has %s now%s", n, name, target, count(promised[name]),
				missing(inv, name, w.Pods)))
		}
	}
	switch {
	case len(ever) > 0:
		return Lack{Why: strings.Join(ever, "; it "), Ever: true}
	case len(now) > 0:
		return Lack{Why: strings.Join(now, "; it ")}
	}
	switch room := inv.Room(w.Pods, nil); {
	case room.Never:
		return Lack{Why: tooLarge(target, w.Pods, inv), Ever: true}
	case room.Outsider:
		asked := describe(w.Pods)
		return Lack{Why: fmt.Sprintf("asks for %s, which the nodes of target %q cannot hold now%s", asked, target,
			missing(inv, firstResource(w.Pods), w.Pods))}
	}
	return Lack{}
}

func describe(pods []devices.Shape) string {
	var asked []string
	for _, p := range pods {
		asked = append(asked, p.String())
	}
	return strings.Join(asked, " and ")
}

func firstResource(pods []devices.Shape) string {
	return slices.Sorted(maps.Keys(pods[0].Requests))[0] // no room for pods means that there are some
}

func count(n int64) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(n)
}

// missing says where the rest of a resource is, in brackets. Nodes that could not hold the pods anyway are not named.
func missing(inv *devices.Inventory, name string, pods []devices.Shape) string {
	var parts []string
	if others := inv.Foreign()[name]; others > 0 {
		parts = append(parts, fmt.Sprintf("others hold %d", others))
	}
	lost := inv.LostFor(pods...)
	if len(pods) == 0 { // who says nothing of them takes any device
		lost = inv.Lost()
	}
	if len(lost) > 0 {
		parts = append(parts, "no pods on "+strings.Join(lost[:min(3, len(lost))], ", "))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

// tooLarge tells of the pods that no node holds, or not all of them beside each other.
func tooLarge(target string, pods []devices.Shape, inv *devices.Inventory) string {
	var most []string
	done := map[string]bool{}
	for _, p := range pods {
		for _, name := range slices.Sorted(maps.Keys(p.Requests)) {
			if done[name] {
				continue
			}
			done[name] = true
			var n int64
			for _, node := range inv.Nodes {
				n = max(n, node.Full()[name])
			}
			most = append(most, fmt.Sprintf("%s %s", count(n), name))
		}
	}
	return fmt.Sprintf(
		"asks for %s, which the nodes of target %q cannot hold even when they are empty: a node has at most %s",
		describe(pods), target, strings.Join(most, " and "))
}
