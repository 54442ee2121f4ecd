package plan

import (
	"fmt"
	"strconv"
	"strings"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/platform"
)

// atPlacement is the path of the field below the spec of a profile.
const atPlacement = "runtime.placement"

// misplaced reports placement that the platform of some points cannot honour, once per profile and with all the
// points concerned.
func (m *Matrix) misplaced() problem.List {
	type key struct{ place, mode, profile, platform, needs string }
	points := map[key][]int{}
	var order []key
	digits := make([]int, len(m.r.axes))
	for i := range m.r.points() {
		m.r.point(i, digits)
		p := &point{resolver: m.r, digits: digits}
		profile, problems := p.deployment(digits)
		if problems.Err() != nil || profile == nil {
			continue
		}
		missing, inOtherMode := m.r.platforms.Lacks(&profile.Spec.Block, atPlacement)
		if missing == nil {
			continue
		}
		l := p.layers()
		if !l.over.Runtime.Placement.Set && !l.own.Runtime.Placement.Set {
			continue
		}
		placement := whole(platform.Placement{}, l.over.Runtime.Placement, l.own.Runtime.Placement)
		if placement.Mode == "" {
			continue
		}
		k := key{
			p.overriddenAt("runtime.placement.mode"), placement.Mode, profile.Metadata.Name,
			platformName(&profile.Spec, inOtherMode), missing.Else,
		}
		if points[k] == nil {
			order = append(order, k)
		}
		points[k] = append(points[k], i+1)
	}
	var out problem.List
	for _, k := range order {
		out.Add(m.exp.Problem(k.place, "%q cannot apply to %s of %d (deployment_profile %q: platform %s);\n"+
			"  %s. Remove that profile, or use spec.matrix.max_parallel: 1",
			k.mode, ranges(points[k]), m.r.points(), k.profile, k.platform, k.needs))
	}
	return out
}

// platformName names the platform, and the mode where only that is in the way.
func platformName(d *spec.DeploymentSpec, onlyMode bool) string {
	if onlyMode {
		return fmt.Sprintf("%s, mode %s", d.Platform, d.Mode)
	}
	return d.Platform
}

// ranges writes ascending numbers as "point 3" or "points 1-3, 7".
func ranges(numbers []int) string {
	var parts []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		part := strconv.Itoa(numbers[i])
		if j > i {
			part += "-" + strconv.Itoa(numbers[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	if len(numbers) == 1 {
		return "point " + parts[0]
	}
	return "points " + strings.Join(parts, ", ")
}
