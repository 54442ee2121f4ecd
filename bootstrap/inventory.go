package bootstrap

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/runplan/contract"
)

// Inventory lists what bootstrap has put on a cluster, and is kept there. It is written before the objects, so that an
// installation that was cut off can be continued or removed.
type Inventory struct {
	Settings Settings
	Parts    map[string][]Entry // part -> objects, sorted
}

// Entry is one object. A shared one existed before: it is released and never deleted.
type Entry struct {
	apply.Ref
	Shared bool
}

const (
	inventoryName = "bflow-inventory"
	settingsKey   = "settings.json"
	sharedMark    = " shared"
)

func inventoryRef() apply.Ref {
	return apply.Ref{Kind: "ConfigMap", Namespace: contract.NamespaceSystem, Name: inventoryName}
}

// ReadInventory reads the inventory of a cluster. It is empty if nothing was installed.
func ReadInventory(ctx context.Context, c *apply.Cluster) (Inventory, error) {
	inv := Inventory{Parts: map[string][]Entry{}}
	u, err := c.Get(ctx, inventoryRef())
	if err != nil || u == nil {
		return inv, err
	}
	data, _, err := unstructured.NestedStringMap(u.Object, "data")
	if err != nil {
		return inv, fmt.Errorf("reading %s: %w", inventoryRef(), err)
	}
	for key, text := range data {
		if key == settingsKey {
			err = json.Unmarshal([]byte(text), &inv.Settings)
		} else {
			inv.Parts[key], err = parseEntries(text)
		}
		if err != nil {
			return inv, fmt.Errorf("reading %s: key %q: %w", inventoryRef(), key, err)
		}
	}
	return inv, nil
}

// Object returns the ConfigMap of the inventory. The same inventory always gives the same text.
func (inv Inventory) Object() (*unstructured.Unstructured, error) {
	settings, err := json.MarshalIndent(inv.Settings, "", " ")
	if err != nil {
		return nil, err
	}
	data := map[string]any{settingsKey: string(settings)}
	for part, entries := range inv.Parts {
		if len(entries) > 0 {
			data[part] = formatEntries(entries)
		}
	}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": data}}
	u.SetNamespace(contract.NamespaceSystem)
	u.SetName(inventoryName)
	labelAsOurs(u, partBflow)
	return u, nil
}

// With returns the inventory with more objects in a part, each once.
func (inv Inventory) With(part string, more []Entry) Inventory {
	out := Inventory{Settings: inv.Settings, Parts: map[string][]Entry{}}
	for p, entries := range inv.Parts {
		out.Parts[p] = slices.Clone(entries)
	}
	for _, e := range more {
		if !slices.ContainsFunc(out.Parts[part], func(have Entry) bool { return have.Ref == e.Ref }) {
			out.Parts[part] = append(out.Parts[part], e)
		}
	}
	return out
}

// Find returns the entry of an object in a part.
func (inv Inventory) Find(part string, ref apply.Ref) (Entry, bool) {
	i := slices.IndexFunc(inv.Parts[part], func(e Entry) bool { return e.Ref == ref })
	if i < 0 {
		return Entry{}, false
	}
	return inv.Parts[part][i], true
}

// hasController reports whether bflow is installed: an uninstallation that had to leave something leaves an inventory
// without the controller.
func (inv Inventory) hasController() bool {
	_, found := inv.Find(partBflow, controllerRef())
	return found
}

func controllerRef() apply.Ref {
	return apply.Ref{Group: "apps", Kind: "Deployment", Namespace: contract.NamespaceSystem,
		Name: contract.AccountController}
}

func parseEntries(text string) ([]Entry, error) {
	var all []Entry
	for line := range strings.Lines(text) {
		key, shared := strings.CutSuffix(strings.TrimSpace(line), sharedMark)
		ref, err := apply.ParseRef(key)
		if err != nil {
			return nil, err
		}
		all = append(all, Entry{Ref: ref, Shared: shared})
	}
	return all, nil
}

func formatEntries(entries []Entry) string {
	sorted := slices.SortedFunc(slices.Values(entries), func(a, b Entry) int { return a.Compare(b.Ref) })
	var out strings.Builder
	for _, e := range sorted {
		out.WriteString(e.Key())
		if e.Shared {
			out.WriteString(sharedMark)
		}
		out.WriteString("\n")
	}
	return out.String()
}
