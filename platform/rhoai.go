package platform

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/runplan"
)

const (
	modeISVC = "isvc" // an InferenceService; the other modes are LLMInferenceServices

	rhoaiVersion = "3.3"
	rhoaiChannel = "fast-3.x"
)

// rhoai is OpenShift AI, which nothing deploys yet.
func rhoai() Platform {
	isvc := []string{modeISVC}
	return Platform{
		Name: "rhoai", About: "OpenShift AI: InferenceService and LLMInferenceService",
		Modes: []Mode{
			{Name: modeISVC, Port: 8080},
			{Name: "distributed-default", Scheduler: true},
			{Name: "approximate-prefix-cache", Scheduler: true},
			{Name: "precise-prefix-cache", Scheduler: true},
		},
		Profiling:    true,
		EPPVariables: []string{"gpu_count", "enable_auth", "precise_prefix_cache_tokenizer_model_path"},
		NeedsImage:   func(b *Block) bool { return b.Mode == modeISVC || b.Options.MooncakeStore != nil },
		Check:        checkRHOAI,
		Defaults:     func(b *Block) { b.PlatformChannel = cmp.Or(b.PlatformChannel, rhoaiChannel) },
		Override: func(b *Block, o Overrides) {
			if o.EnableAuth != nil {
				b.Options.EnableAuth = *o.EnableAuth
			}
		},
		Version: func(b *Block, _ string) string { return cmp.Or(b.PlatformVersion, rhoaiVersion) },
		Plan:    func(b *Block, d *runplan.Deployment) { d.PlatformChannel = b.PlatformChannel },
		SetupKey: func(d *runplan.Deployment) string {
			return strings.Join([]string{"rhoai", d.PlatformVersion, d.PlatformChannel}, "/")
		},
		Label:    func(d *runplan.Deployment, _ string) string { return operatorLabel(d.PlatformVersion) },
		Patterns: rhoaiPatterns,
		Features: []Feature{{
			Path: "runtime.placement", Except: isvc, Fails: true,
			Used: func(b *Block) bool { return b.Runtime.Placement != nil && b.Runtime.Placement.Mode != "" },
			Else: "placement needs platform rhoai and a mode other than isvc",
		}, {
			Path: "options.startup_probe", Except: isvc,
			Used: func(b *Block) bool { return b.Options.StartupProbe != nil },
			Else: "it has no effect: only platform rhoai with a mode other than isvc uses it",
		}, {
			Path: "options.mooncake_store", Except: isvc, Fails: true,
			Used: func(b *Block) bool { return b.Options.MooncakeStore != nil },
			Else: "mooncake_store needs platform rhoai and a mode other than isvc",
		}},
	}
}

func checkRHOAI(b *Block) (out problem.Findings) {
	if b.Mode == modeISVC {
		if b.Options.EPPConfig != "" {
			out.Add("options.epp_config", "mode isvc has no endpoint picker")
		}
		if b.Options.EPPVerbosity != nil {
			out.Add("options.epp_verbosity", "mode isvc has no endpoint picker")
		}
	}
	if _, set := b.Runtime.Env["PYTHONHASHSEED"]; set && b.Mode == "precise-prefix-cache" {
		out.Add("runtime.env.PYTHONHASHSEED", "the platform sets this variable to 42 to match the endpoint picker; remove it")
	}
	out.Under("options.mooncake_store", b.Options.MooncakeStore.check(b.Runtime.HostPaths))
	return out
}

func rhoaiPatterns(b *Block, release string) Patterns {
	server := ".*" + release + ".*"
	if b.Mode == modeISVC {
		return Patterns{Server: server, Scheduler: MatchesNothing, SchedulerPort: MatchesNothing}
	}
	return Patterns{Server: server, Scheduler: ".*" + release + ".*router-scheduler.*", SchedulerPort: "metrics"}
}

var operatorVersion = regexp.MustCompile(`(?i)(\d+)\.(\d+)(?:\.\d+)?(?:-?ea\.?(\d+))?`)

// operatorLabel shortens an operator version: RHOAI-3.5.0-ea.2 is RHOAI-3.5-EA2.
func operatorLabel(version string) string {
	m := operatorVersion.FindStringSubmatch(version)
	if m == nil {
		return "RHOAI-" + version
	}
	label := "RHOAI-" + m[1] + "." + m[2]
	if m[3] != "" {
		label += "-EA" + m[3]
	}
	return label
}

// MooncakeStore is the distributed KV cache of platform rhoai.
type MooncakeStore struct {
	Mode                   string `json:"mode" req:"true" enum:"embedded|standalone-store" doc:"embedded in the server, or a separate store"`
	Protocol               string `json:"protocol" req:"true" enum:"rdma|tcp" doc:"transport protocol"`
	LocalBufferSize        string `json:"local_buffer_size" req:"true" is:"bytes" doc:"buffer size per worker"`
	DeviceName             string `json:"device_name,omitempty" doc:"network device"`
	GlobalSegmentSize      string `json:"global_segment_size,omitempty" is:"bytes" doc:"embedded: memory contributed to the pool"`
	StoreGlobalSegmentSize string `json:"store_global_segment_size,omitempty" is:"bytes" doc:"standalone-store: memory contributed to the pool"`
	HostPathName           string `json:"host_path_name,omitempty" is:"label" doc:"standalone-store: name of a writable entry of host_paths"`
	OffloadPath            string `json:"offload_path,omitempty" is:"folder" doc:"standalone-store: mount path of that entry"`
	OffloadSizeLimitBytes  int64  `json:"offload_size_limit_bytes,omitempty" min:"1" unit:"bytes" doc:"standalone-store: size limit on disk"`
}

func (m *MooncakeStore) check(hostPaths []HostPath) (out problem.Findings) {
	if m == nil {
		return nil
	}
	if m.Mode == "embedded" && m.GlobalSegmentSize == "" {
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
	return append(out, m.checkOffloadPath(hostPaths)...)
}

// checkOffloadPath ties the store to its folder on the node.
func (m *MooncakeStore) checkOffloadPath(hostPaths []HostPath) (out problem.Findings) {
	if m.HostPathName == "" {
		return nil
	}
	i := slices.IndexFunc(hostPaths, func(h HostPath) bool { return h.Name == m.HostPathName })
	if i < 0 {
		out.Add("host_path_name", "runtime.host_paths has no entry named %q", m.HostPathName)
		return out
	}
	h := hostPaths[i]
	if h.ReadOnly {
		out.Add("host_path_name", "host path %q must be writable", m.HostPathName)
	}
	if m.OffloadPath != "" && strings.TrimRight(m.OffloadPath, "/") != strings.TrimRight(h.MountPath, "/") {
		out.Add("offload_path", "want the mount path of host path %q, %q, found %q",
			m.HostPathName, h.MountPath, m.OffloadPath)
	}
	return out
}
