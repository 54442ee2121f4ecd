package plan

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/runplan"
)

func TestPlaceholders(t *testing.T) {
	plain := platform.Block{Platform: "rhaiis", Mode: "raw-vllm"}
	guided := platform.Block{Platform: "llm-d", RepoRef: "v0.7.0"}
	old := platform.Block{Platform: "llm-d", RepoRef: "llm-d-0.5.1"}
	service := platform.Block{Platform: "rhoai", Mode: "distributed-default"}
	single := platform.Block{Platform: "rhoai", Mode: "isvc"}
	mounts := platform.Block{Platform: "rhaiis", Runtime: platform.Runtime{
		HostPaths: []platform.HostPath{{HostPath: "/var/lib/kv.d"}, {HostPath: "/top"}},
		PVCMounts: []platform.PVCMount{{ClaimName: "a", StorageClass: "nfs"}, {ClaimName: "b", StorageClass: "Rook-block"},
			{ClaimName: "c"}},
	}}
	existing := &runplan.Endpoint{MetricsRelease: "live"}
	for _, row := range []struct {
		name     string
		d        platform.Block
		endpoint *runplan.Endpoint
		in, want string
	}{
		{"the namespace is that of the target", plain, nil, `{namespace="$namespace"}`, `{namespace="perf"}`},
		{"the release waits for the run", plain, nil, "$release", "$release"},
		{"the release of an existing endpoint is known", plain, existing, "$release", "live"},
		{"plain servers are matched by release", plain, nil, "$modelserver_pod_regex", ".*$release.*"},
		{"plain servers have no scheduler", plain, nil, "$scheduler_pod_regex $scheduler_endpoint_regex", "a^ a^"},
		{"llm-d has new names", guided, nil, "$modelserver_pod_regex $scheduler_pod_regex",
			"ms-$release-.* gaie-$release-epp.*"},
		{"llm-d below 0.6 has old names", old, existing, "$modelserver_pod_regex $scheduler_pod_regex", ".*live.* .*live.*"},
		{"an LLM service has a router", service, existing, "$scheduler_pod_regex $scheduler_endpoint_regex",
			".*live.*router-scheduler.* metrics"},
		{"isvc has none", single, nil, "$scheduler_pod_regex", "a^"},
		{"host paths and their parents, longest first", mounts, nil, "$hostpath_mount_regex",
			`^(/var/lib/kv[.]d|/var/lib|/top)$`},
		{"claims", mounts, nil, "$runtime_pvc_regex $ceph_pvc_regex", "^(a|b|c)$ ^(b|c)$"},
		{"the pool of Ceph where a claim may lie there", mounts, nil, "$ceph_pool_regex",
			".*(cephfs|cephfilesystem|filesystem).*|.*[-_.]data[0-9]*.*"},
		{"no such mounts match nothing", plain, nil, "$hostpath_mount_regex $runtime_pvc_regex $ceph_pool_regex", "a^ a^ a^"},
		{"the longest name is replaced first", plain, nil, "$hostpath_filesystem_exclude_regex",
			"tmpfs|overlay|squashfs|proc|sysfs|devtmpfs|cgroup2"},
	} {
		t.Run(row.name, func(t *testing.T) {
			plan := &runplan.RunPlan{Target: runplan.Target{Namespace: "perf"},
				Deployment: runplan.Deployment{Endpoint: row.endpoint}}
			if got := strings.NewReplacer(placeholders(&spec.DeploymentSpec{Block: row.d}, platform.All().Named(row.d.Platform),
				plan)...).Replace(row.in); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestLiterally(t *testing.T) {
	for _, s := range []string{"/a.b+c", "[x]{2}(y)|z?", "$^*"} {
		if quoted := literally(s); s != "$^*" && !regexp.MustCompile("^"+quoted+"$").MatchString(s) {
			t.Errorf("%q does not match %q", quoted, s)
		}
	}
}

func TestVersionLabels(t *testing.T) {
	deployment := func(platform, version, ref, kind, image string) runplan.Deployment {
		return runplan.Deployment{Platform: platform, Mode: "raw-vllm", PlatformVersion: version, RepoRef: ref,
			Engine: runplan.Engine{Kind: kind, Image: image}}
	}
	for _, row := range []struct {
		name   string
		d      runplan.Deployment
		commit string
		want   string
	}{
		{"rhaiis", deployment("rhaiis", "", "", "vllm", ""), "", "rhaiis-raw-vllm"},
		{"an llm-d release", deployment("llm-d", "", "v0.7.0", "vllm", ""), "0123456789", "llm-d-v0.7.0"},
		{"llm-d main without a pin", deployment("llm-d", "", "main", "vllm", ""), "", "llm-d-main"},
		{"llm-d main with its commit", deployment("llm-d", "", "main", "vllm", ""), "0123456789", "llm-d-main-0123456"},
		{"an early operator", deployment("rhoai", "RHOAI-3.5.0-ea.2", "", "vllm", ""), "", "RHOAI-3.5-EA2"},
		{"the default operator", deployment("rhoai", "3.3", "", "vllm", ""), "", "RHOAI-3.3"},
		{"the simulated engine", deployment("rhaiis", "", "", "sim", ""), "", "sim"},
		{"another engine by its tag", deployment("rhaiis", "", "", "tgi", "ghcr.io/tgi:3.3.7"), "", "tgi-3.3.7"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := versionOf(&row.d, platform.All(), row.commit); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestEngineDefaults(t *testing.T) {
	port, image := 9000, platform.Block{Runtime: platform.Runtime{Image: "i:1"}}
	for _, row := range []struct {
		name string
		d    spec.DeploymentSpec
		want runplan.Engine
	}{
		{"vllm", spec.DeploymentSpec{Block: image}, runplan.Engine{Kind: "vllm", Image: "i:1", Port: 8000,
			HealthPath: "/health", MetricsPath: "/metrics"}},
		{"isvc", spec.DeploymentSpec{Block: platform.Block{Platform: "rhoai", Mode: "isvc"}},
			runplan.Engine{Kind: "vllm", Port: 8080, HealthPath: "/health", MetricsPath: "/metrics"}},
		{"triton", spec.DeploymentSpec{Engine: &spec.Engine{Kind: "triton"}},
			runplan.Engine{Kind: "triton", Port: 8000, HealthPath: "/v2/health/ready", MetricsPath: "/metrics",
				MetricsPort: 8002}},
		{"tgi", spec.DeploymentSpec{Engine: &spec.Engine{Kind: "tgi"}},
			runplan.Engine{Kind: "tgi", Port: 8080, HealthPath: "/health", MetricsPath: "/metrics"}},
		{"sim takes no server image", spec.DeploymentSpec{Block: image, Engine: &spec.Engine{Kind: "sim"}},
			runplan.Engine{Kind: "sim", Port: 8000, HealthPath: "/health", MetricsPath: "/metrics", Sim: &runplan.Sim{}}},
		{"command takes a free port", spec.DeploymentSpec{Engine: &spec.Engine{Kind: "command", Command: []string{"x"}}},
			runplan.Engine{Kind: "command", Command: []string{"x"}, HealthPath: "/health", MetricsPath: "/metrics"}},
		{"what is written wins", spec.DeploymentSpec{Engine: &spec.Engine{Kind: "sglang", Port: &port, HealthPath: "/up",
			MetricsPath: "/m"}}, runplan.Engine{Kind: "sglang", Port: 9000, HealthPath: "/up", MetricsPath: "/m"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := engineOf(&row.d, platform.All().Named(row.d.Platform)); !reflect.DeepEqual(got, row.want) {
				t.Errorf("got %+v, want %+v", got, row.want)
			}
		})
	}
}
