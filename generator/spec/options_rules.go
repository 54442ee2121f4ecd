package spec

import (
	"regexp"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/problem"
)

// checkOptions finds options that the platform has not, and combinations that cannot work.
func (s *DeploymentSpec) checkOptions() (out problem.Findings) {
	o := &s.Options
	if s.Platform == "rhoai" && s.Mode == "isvc" {
		if o.EPPConfig != "" {
			out.Add("epp_config", "mode isvc has no endpoint picker")
		}
		if o.EPPVerbosity != nil {
			out.Add("epp_verbosity", "mode isvc has no endpoint picker")
		}
	}
	out.Under("epp_config", checkEPP(s.Platform, o.EPPConfig))
	if o.StartupProbe != nil && !s.llmService() {
		out.Warn("startup_probe", "it has no effect: only platform rhoai with a mode other than isvc uses it")
	}
	switch {
	case o.StorageOffloading == nil:
	case s.Platform != "llm-d":
		out.Warn("storage_offloading", "it has no effect: only platform llm-d uses it")
	case beforeOffloading(s.RepoRef):
		out.Warn("storage_offloading", "needs llm-d 0.6.0 or later, found repo_ref %q", s.RepoRef)
	}
	out.Under("mooncake_store", s.checkMooncake())
	return out
}

// beforeOffloading reports whether an llm-d ref names a release before 0.6.0. Other refs count as new.
func beforeOffloading(ref string) bool {
	m := regexp.MustCompile(`(\d+)\.(\d+)\.\d+`).FindStringSubmatch(ref)
	return m != nil && m[1] == "0" && len(m[2]) == 1 && m[2] < "6"
}

func (s *DeploymentSpec) checkMooncake() (out problem.Findings) {
	m := s.Options.MooncakeStore
	switch {
	case m == nil:
		return nil
	case !s.llmService():
		out.Add("", "mooncake_store needs platform rhoai and a mode other than isvc, found %s/%s", s.Platform, s.Mode)
	case m.Mode == "embedded" && m.GlobalSegmentSize == "":
		out.Add("global_segment_size", "required field is missing: mode embedded needs it")
	}
	if m.Mode != "standalone-store" {
		return out
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"store_global_segment_size", m.StoreGlobalSegmentSize != ""}, {"host_path_name", m.HostPathName != ""},
		{"offload_path", m.OffloadPath != ""}, {"offload_size_limit_bytes", m.OffloadSizeLimitBytes > 0},
	} {
		if !f.set {
			out.Add(f.name, "required field is missing: mode standalone-store needs it")
		}
	}
	return append(out, s.checkOffloadPath(m)...)
}

// checkOffloadPath ties the store to its folder on the node.
func (s *DeploymentSpec) checkOffloadPath(m *MooncakeStore) (out problem.Findings) {
	if m.HostPathName == "" {
		return nil
	}
	i := slices.IndexFunc(s.Runtime.HostPaths, func(h HostPath) bool { return h.Name == m.HostPathName })
	if i < 0 {
		out.Add("host_path_name", "runtime.host_paths has no entry named %q", m.HostPathName)
		return out
	}
	h := s.Runtime.HostPaths[i]
	if h.ReadOnly {
		out.Add("host_path_name", "host path %q must be writable", m.HostPathName)
	}
	if m.OffloadPath != "" && strings.TrimRight(m.OffloadPath, "/") != strings.TrimRight(h.MountPath, "/") {
		out.Add("offload_path", "want the mount path of host path %q, %q, found %q", m.HostPathName, h.MountPath, m.OffloadPath)
	}
	return out
}
