package platform

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/runplan"
)

const (
	nameLLMD = "llm-d"
	llmdRepo = "https://github.com/llm-d/llm-d"
	llmdRef  = "main"

	modeScheduling    = "inference-scheduling"
	modeBaseline      = "optimized-baseline" // another name of it
	modeFlowControl   = "flow-control"
	modeTiered        = "tiered-prefix-cache"
	gatewayStandalone = "standalone"
)

// llmd is llm-d: model servers behind a router, whose endpoint picker chooses the pod of each request. bflow deploys
// the router without a gateway, which chooses by the load of model servers and by the prefixes that they have seen.
func llmd() Platform {
	const precise = "precise-prefix-cache"
	deployed := llmdDeployed()
	return Platform{
		Name: nameLLMD, About: "llm-d with its routers",
		Modes: []Mode{
			{Name: modeScheduling, Scheduler: true},
			{Name: modeBaseline, Scheduler: true, Plan: Variant{nameLLMD, modeScheduling}},
			{Name: precise, Scheduler: true},
			{Name: "precise-prefix-cache-routing", Scheduler: true, Plan: Variant{nameLLMD, precise}},
			{Name: modeFlowControl, Scheduler: true},
			{Name: modeTiered, Scheduler: true},
		},
		AnyEngine: true, OpenAIOnly: true,
		EPPVariables: llmdVariables(),
		Check:        checkLLMD,
		CheckEngine:  checkLLMDEngine,
		Lacks:        llmdLacks,
		Deploys: fmt.Sprintf("mode %s or %s with gateway %s", strings.Join(deployed[:len(deployed)-1], ", "),
			deployed[len(deployed)-1], gatewayStandalone),
		Defaults: func(b *Block) {
			b.RepoURL, b.RepoRef = cmp.Or(b.RepoURL, llmdRepo), cmp.Or(b.RepoRef, llmdRef)
			b.Options.StorageOffloading = b.Options.StorageOffloading.withDefaults()
		},
		Override: func(b *Block, o Overrides) { b.RepoRef = cmp.Or(o.RepoRef, b.RepoRef) },
		Version:  func(b *Block, _ string) string { return b.RepoRef },
		Plan:     planLLMD,
		Identity: clearVersion,
		SetupKey: func(d *runplan.Deployment) string {
			if d.Gateway == gatewayStandalone { // all of it is the run's own
				return ""
			}
			return strings.Join([]string{nameLLMD, d.Gateway, d.RepoRef}, "/")
		},
		Label:   llmdLabel,
		Kinds:   []string{"Deployment", "Service", "PersistentVolumeClaim"},
		Objects: llmdObjects,
		Pods:    func(d *runplan.Deployment) int { return replicas(d) + 1 }, // that of the router
		Ready:   DeploymentsReady,
		Endpoint: func(_ *runplan.Deployment, release string) Address {
			return Address{Service: llmdRouter(release), Port: routerPort}
		},
		Patterns: llmdPatterns,
		Features: []Feature{
			{
				Path: "options.storage_offloading",
				Used: func(b *Block) bool { return b.Options.StorageOffloading != nil },
				Else: "it has no effect: only platform llm-d uses it",
			},
			{
				Path: "gateway",
				Used: func(b *Block) bool { return b.Gateway == gatewayStandalone },
				Else: "it has no effect: only platform llm-d has a gateway of that kind",
			},
			{
				Path: "proxy_image",
				Used: func(b *Block) bool { return b.ProxyImage != "" },
				Else: "it has no effect: only platform llm-d has a proxy",
			},
		},
	}
}

// llmdDeployed are the modes that bflow can deploy. Plans have baseline under its other name.
func llmdDeployed() []string { return []string{modeScheduling, modeFlowControl, modeTiered} }

func llmdLabel(d *runplan.Deployment, commit string) string {
	if d.RepoRef == llmdRef && len(commit) >= 7 {
		return "llm-d-" + d.RepoRef + "-" + commit[:7]
	}
	return "llm-d-" + d.RepoRef
}

func checkLLMD(b *Block) (out problem.Findings) {
	if b.Options.StorageOffloading != nil && isBefore06(b.RepoRef) {
		out.Warn("options.storage_offloading", "needs llm-d 0.6.0 or later, found repo_ref %q", b.RepoRef)
	}
	out.Under("runtime", checkNodeFolders(&b.Runtime))
	if llmdLacks(b) == "" {
		out = append(out, checkRouter(b)...)
	}
	return out
}

// checkNodeFolders finds host paths that llm-d cannot give its pods.
func checkNodeFolders(r *Runtime) (out problem.Findings) {
	const account = "benchflow-hostpath-runtime"
	if len(r.HostPaths) == 0 {
		return nil
	}
	for i, h := range r.HostPaths {
		if h.Type != "DirectoryOrCreate" || h.ReadOnly {
			out.Add("host_paths["+strconv.Itoa(i)+"]",
				"platform llm-d accepts only writable host paths of type DirectoryOrCreate")
		}
	}
	if a := r.ServiceAccountName; a != "" && a != account {
		out.Add("service_account_name",
			"platform llm-d runs pods with host paths as %q, found %q; leave it unset", account, a)
	}
	return out
}

var releaseNumber = regexp.MustCompile(`(\d+)\.(\d+)\.(\d+)`)

// isBefore06 reports whether a ref holds a version below 0.6.0, which has no offloading, and whose objects have other
// names. Other refs count as new.
func isBefore06(ref string) bool {
	m := releaseNumber.FindStringSubmatch(ref)
	if m == nil {
		return false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	return major == 0 && minor < 6
}

func llmdPatterns(b *Block, release string) Patterns {
	const port = "(metrics|http-metrics)"
	if isBefore06(b.RepoRef) {
		return Patterns{Server: ".*" + release + ".*", Scheduler: ".*" + release + ".*", SchedulerPort: port}
	}
	return Patterns{Server: "ms-" + release + "-.*", Scheduler: "gaie-" + release + "-epp.*", SchedulerPort: port}
}

// StorageOffloading keeps KV blocks on shared storage.
type StorageOffloading struct {
	Enabled           bool   `json:"enabled" default:"false" doc:"enable the feature"`
	Type              string `json:"type,omitempty" default:"pvc" enum:"pvc|hostPath" words:"persistentVolumeClaim=pvc|host-path=hostPath|host_path=hostPath" doc:"kind of storage"`
	MountPath         string `json:"mount_path,omitempty" default:"/mnt/files-storage" is:"folder" doc:"path in the container"`
	DirectoryPath     string `json:"directory_path,omitempty" is:"folder" implied:"<mount_path>/kv-cache" doc:"folder for KV cache blocks"`
	StorageEventsPort int    `json:"storage_events_port,omitempty" default:"5559" min:"1" max:"65535" doc:"port for storage events"`
	PVCName           string `json:"pvc_name,omitempty" implied:"llm-d-storage-offloading-cache" is:"subdomain" doc:"pvc: name of the claim"`
	StorageClass      string `json:"storage_class,omitempty" implied:"nfs-rwx" is:"subdomain" doc:"pvc: storage class"`
	Size              string `json:"size,omitempty" implied:"2500Gi" is:"quantity" doc:"pvc: size"`
	AccessMode        string `json:"access_mode,omitempty" implied:"ReadWriteMany" enum:"ReadWriteOnce|ReadOnlyMany|ReadWriteMany|ReadWriteOncePod" doc:"pvc: access mode"`
	HostPath          string `json:"host_path,omitempty" implied:"/var/lib/benchflow/storage-offloading/<release>" is:"folder" doc:"hostPath: path on the node"`
	HostPathType      string `json:"host_path_type,omitempty" implied:"DirectoryOrCreate" enum:"DirectoryOrCreate|Directory|FileOrCreate|File|Socket|CharDevice|BlockDevice" doc:"hostPath: Kubernetes hostPath type"`
}

// withDefaults fills in what the type of the storage implies. The folder on a node depends on the release, which only a
// run has, so that one stays open.
func (s *StorageOffloading) withDefaults() *StorageOffloading {
	if s == nil || !s.Enabled {
		return s
	}
	o := *s
	o.DirectoryPath = cmp.Or(o.DirectoryPath, strings.TrimRight(o.MountPath, "/")+"/kv-cache")
	if o.Type == "hostPath" {
		o.HostPathType = cmp.Or(o.HostPathType, "DirectoryOrCreate")
		return &o
	}
	o.PVCName, o.StorageClass = cmp.Or(o.PVCName, "llm-d-storage-offloading-cache"), cmp.Or(o.StorageClass, "nfs-rwx")
	o.Size, o.AccessMode = cmp.Or(o.Size, "2500Gi"), cmp.Or(o.AccessMode, "ReadWriteMany")
	return &o
}
