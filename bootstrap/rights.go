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

// rightsOnTargets returns a digest of the rights of the hub's accounts on a target: in the whole cluster and in a
// namespace of runs, which are all alike. It changes when a version of bflow has other rights.
func rightsOnTargets() (string, error) {
	all, err := objects.Target{}.Objects()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, o := range all {
		text, err := json.Marshal([]any{o.GetKind(), o.GetNamespace(), o.GetName(),
			o.Object["rules"], o.Object["roleRef"], o.Object["subjects"]})
		if err != nil {
			return "", fmt.Errorf("reading the rights in %s %q: %w", o.GetKind(), o.GetName(), err)
		}
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:6]), nil
}

// lacking returns the namespaces of runs for which the last bflow target add of a name gave other rights.
func (s Settings) lacking(name, rights string) []string {
	namespaces := s.Targets[name].Namespaces
	if len(namespaces) == 0 {
		namespaces = s.Namespaces
	}
	return slices.DeleteFunc(slices.Clone(namespaces), func(n string) bool { return s.Targets[name].Rights[n] == rights })
}

// printLacking prints which targets an administrator has to add again.
func (h *Hub) printLacking(s Settings) error {
	rights, err := rightsOnTargets()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.Targets)) {
		if lacks := s.lacking(name, rights); len(lacks) > 0 {
			h.out.note(
				"target %q lacks permissions that this version needs for runs of %s: grant them with bflow target add %s "+
					"--kubeconfig FILE",
				name, strings.Join(lacks, ", "), name)
		}
	}
	return nil
}
