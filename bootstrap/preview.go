package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/bootstrap/component"
	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/bootstrap/mirror"
)

// Export writes the objects of a complete installation as YAML, in the order of installation. It asks no cluster, so
// it leaves out ConfigMap bflow-hub, which has the identity of one.
func Export(w io.Writer, o Options) error {
	all, err := render(o.withDefaults(), component.All(), detect.Found{}, Inventory{})
	if err != nil {
		return err
	}
	for _, p := range all {
		if _, err := fmt.Fprintf(w, "# %s %s: %d objects\n", p.Name, p.Version, len(p.Objects)); err != nil {
			return err
		}
		for _, phase := range apply.Phases(p.Objects) {
			if err := writeYAML(w, phase); err != nil {
				return err
			}
		}
	}
	return nil
}

func writeYAML(w io.Writer, objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "---\n%s", text); err != nil {
			return err
		}
	}
	return nil
}

// DryRun writes to w what an installation would change, as a unified diff of the server's answers to dry runs. An
// object whose namespace or CRD does not exist yet is shown as it would be sent.
func (h *Hub) DryRun(ctx context.Context, o Options, w io.Writer) error {
	s, err := h.look(ctx, o)
	if err != nil {
		return err
	}
	if err := h.checkCluster(s); err != nil {
		return err
	}
	if err := h.pin(ctx, &s); err != nil {
		return err
	}
	if err := h.claim(ctx, &s); err != nil {
		return err
	}
	var problems []error
	for _, p := range s.parts {
		count, unchecked, options := map[apply.Action]int{}, 0, s.applyOptions(p)
		options.DryRun = true
		for _, phase := range apply.Phases(p.Objects) {
			for _, object := range phase {
				change, err := h.cluster.Apply(ctx, object, options)
				if err != nil {
					problems = append(problems, err)
					continue
				}
				count[change.Action]++
				h.out.kept(change.Kept, s.options.Force)
				if change.Unchecked {
					unchecked++
				}
				if _, err := io.WriteString(w, change.Diff()); err != nil {
					return err
				}
			}
		}
		h.out.note("%s %s: %s%s", p.Name, p.Version, describeCounts(len(p.Objects), count, 0), describeUnchecked(unchecked))
	}
	return errors.Join(problems...)
}

func describeUnchecked(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; the server could not check %d, whose namespace or kind does not exist yet", n)
}

// Images returns the images that an installation pulls, each with its public name and with the name under which it
// would be pulled.
func Images(o Options) ([][2]string, error) {
	there, err := render(o.withDefaults(), component.All(), detect.Found{}, Inventory{})
	if err != nil {
		return nil, err
	}
	o.Registry, o.ImageMap = "", nil
	public, err := render(o.withDefaults(), component.All(), detect.Found{}, Inventory{})
	if err != nil {
		return nil, err
	}
	var pairs [][2]string
	for i := range public {
		for k, object := range public[i].Objects {
			from, to := mirror.Images(object), mirror.Images(there[i].Objects[k])
			for n := range from {
				pairs = append(pairs, [2]string{from[n], to[n]})
			}
		}
	}
	slices.SortFunc(pairs, func(a, b [2]string) int { return cmp.Compare(a[0], b[0]) })
	return slices.Compact(pairs), nil
}
