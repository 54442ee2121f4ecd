package platform

import (
	"maps"
	"path"
	"slices"
	"strconv"

	"bflow.dev/bflow/internal/problem"
)

// mount is a volume as far as its uniqueness goes.
type mount struct {
	at, name, path string
}

// CheckMounts finds volumes that collide: reserved or repeated names, repeated mount paths. Paths are relative to
// runtime.
func CheckMounts(hostPaths []HostPath, claims []PVCMount) problem.Findings {
	var mounts []mount
	for i, h := range hostPaths {
		mounts = append(mounts, mount{"host_paths[" + strconv.Itoa(i) + "]", h.Name, h.MountPath})
	}
	for i, c := range claims {
		mounts = append(mounts, mount{"pvc_mounts[" + strconv.Itoa(i) + "]", c.Name, c.MountPath})
	}
	var out problem.Findings
	names, paths := map[string]string{}, map[string]string{}
	for _, m := range mounts {
		m.check(&out, names, paths)
	}
	return out
}

// check adds what m collides with among names and paths, which hold the volumes before it, and puts it there.
func (m mount) check(out *problem.Findings, names, paths map[string]string) {
	switch m.name {
	case "dshm", "model-storage", "engine-files", "vllm-profiler":
		out.Add(m.at+".name", "name %q is reserved; choose another", m.name)
	}
	if first, ok := names[m.name]; ok && m.name != "" {
		out.Add(m.at+".name", "duplicate name %q, first in runtime.%s", m.name, first)
	}
	names[m.name] = m.at
	if m.path == "" {
		return
	}
	clean := path.Clean(m.path)
	if first, ok := paths[clean]; ok {
		out.Add(m.at+".mount_path", "duplicate mount path %q, first in runtime.%s", m.path, first)
	}
	paths[clean] = m.at
}

// checkClaims finds claims that cannot be made.
func checkClaims(claims []PVCMount) (out problem.Findings) {
	for i, c := range claims {
		if c.Create && (c.Size == "" || len(c.AccessModes) == 0) {
			out.Add("pvc_mounts["+strconv.Itoa(i)+"].create", "a created claim needs size and access_modes")
		}
	}
	return out
}

// Check finds resources that are set and removed in one block.
func (r *Resources) Check() (out problem.Findings) {
	if r == nil {
		return nil
	}
	both := func(set map[string]string, removed []string, name string) {
		for _, key := range slices.Sorted(maps.Keys(set)) {
			if i := slices.Index(removed, key); i >= 0 {
				out.Add("remove_"+name+"["+strconv.Itoa(i)+"]",
					"%q is set in %s and removed in the same block; keep one", key, name)
			}
		}
	}
	both(r.Requests, r.RemoveRequests, "requests")
	both(r.Limits, r.RemoveLimits, "limits")
	return out
}

// Check finds a pool without its mode, and the other way round.
func (p *Placement) Check() (out problem.Findings) {
	switch {
	case p == nil:
	case p.Mode == "same-node" && p.SpreadPool == "":
		out.Add("mode", "same-node needs spread_pool")
	case p.Mode != "same-node" && p.SpreadPool != "":
		out.Add("spread_pool", "spread_pool needs mode same-node")
	}
	return out
}

// FieldHints answer for fields that the format has no more.
func (Runtime) FieldHints() map[string]string {
	return map[string]string{"fs_group": "removed from the format", "supplemental_groups": "removed from the format"}
}
