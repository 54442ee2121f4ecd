package bootstrap

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bflow.dev/bflow/bootstrap/objects"
)

// rightsOn are digests of what the accounts of a hub may on a target, by namespace of runs: there, and in the whole
// cluster. One changes when a version of bflow has other rights.
func rightsOn(namespaces []string) (map[string]string, error) {
	out := map[string]string{}
	for _, n := range namespaces {
		all, err := objects.Target{Namespaces: []string{n}}.Objects()
		if err != nil {
			return nil, err
		}
		sum := sha256.New()
		for _, o := range all {
			text, err := json.Marshal([]any{o.GetKind(), o.GetNamespace(), o.GetName(), o.Object["rules"], o.Object["roleRef"], o.Object["subjects"]})
			if err != nil {
				return nil, fmt.Errorf("reading the rights in %s %q: %w", o.GetKind(), o.GetName(), err)
			}
			sum.Write(text)
		}
		out[n] = hex.EncodeToString(sum.Sum(nil)[:6])
	}
	return out, nil
}

// lacking are the namespaces of runs for which the last bflow target add of a name gave other rights than this bflow has.
func (s Settings) lacking(name string) ([]string, error) {
	namespaces := s.Targets[name].Namespaces
	if len(namespaces) == 0 {
		namespaces = s.Namespaces
	}
	want, err := rightsOn(namespaces)
	maps.DeleteFunc(want, func(n, digest string) bool { return s.Targets[name].Rights[n] == digest })
	return slices.Sorted(maps.Keys(want)), err
}

// sayLacking tells of targets whose side is to be written anew, by whoever administers them.
func (h *Hub) sayLacking(s Settings) error {
	for _, name := range slices.Sorted(maps.Keys(s.Targets)) {
		lacks, err := s.lacking(name)
		if err != nil {
			return err
		}
		if len(lacks) > 0 {
			h.note("target %q lacks rights that this version needs for runs of %s: bflow target add %s --kubeconfig FILE gives them", name, strings.Join(lacks, ", "), name)
		}
	}
	return nil
}
