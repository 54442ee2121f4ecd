package runplan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Move gives a plan that was made for one namespace to another, and seals it again. An empty namespace moves nothing. A
// plan whose queries name its namespace is refused: they would ask about what others run there.
func (s *Sealer) Move(p *RunPlan, namespace string) error {
	old := p.Target.Namespace
	if namespace == "" || namespace == old {
		return nil
	}
	if p.Metrics != nil {
		for _, name := range slices.Sorted(maps.Keys(p.Metrics.Queries)) {
			if strings.Contains(p.Metrics.Queries[name], `"`+old+`"`) {
				return fmt.Errorf(
					"moving plan %q to namespace %q: its query %q names namespace %q; plan its experiment again, with -n %s",
					p.Name, namespace, name, old, namespace)
			}
		}
	}
	p.Target.Namespace = namespace
	return s.Seal(p)
}
