package platform

import (
	corev1 "k8s.io/api/core/v1"

	"bflow.dev/bflow/load"
)

// Block is what a DeploymentProfile says about how its server is deployed. Fields of some platforms lie directly in it,
// as the format has always had them; those of a newer platform are its Own.
type Block struct {
	Platform         string       `json:"platform" req:"true" enumof:"platforms" doc:"platform that deploys the server"`
	Mode             string       `json:"mode" req:"true" doc:"variant of the platform"`
	Runtime          Runtime      `json:"runtime,omitempty" doc:"settings of the model pods"`
	ModelStorage     ModelStorage `json:"model_storage,omitempty" doc:"where model files are stored"`
	Namespace        string       `json:"namespace,omitempty" is:"label" doc:"namespace, unless the experiment sets one"`
	RepoURL          string       `json:"repo_url,omitempty" is:"url" implied:"https://github.com/llm-d/llm-d" doc:"llm-d only: Git repository"`
	RepoRef          string       `json:"repo_ref,omitempty" implied:"main" doc:"llm-d only: release; determines the layout of the objects"`
	PlatformVersion  string       `json:"platform_version,omitempty" implied:"3.3 (rhoai)" doc:"version of the operator"`
	PlatformChannel  string       `json:"platform_channel,omitempty" implied:"fast-3.x (rhoai)" doc:"channel of the operator"`
	Gateway          string       `json:"gateway,omitempty" default:"istio" enum:"istio|standalone" doc:"llm-d only: gateway for requests"`
	EndpointPath     string       `json:"endpoint_path,omitempty" default:"/v1/models" is:"abspath" doc:"path of the readiness check"`
	EndpointScope    string       `json:"endpoint_scope,omitempty" default:"external" enum:"external|internal" doc:"which URL of the server to use"`
	SchedulerImage   string       `json:"scheduler_image,omitempty" is:"image" doc:"image of the endpoint picker"`
	ProxyImage       string       `json:"proxy_image,omitempty" is:"image" doc:"image of Envoy in front of the endpoint picker; llm-d with gateway standalone"`
	SchedulerProfile string       `json:"scheduler_profile,omitempty" doc:"kept for compatibility; has no effect"`
	Options          Options      `json:"options,omitempty" doc:"features of the platform"`
	Own              Own          `json:"-"`
}

// Own holds the blocks of platforms that have fields of their own, by the name of the platform.
type Own map[string]any

// OwnOf is the block of a platform, the zero value where a file has none.
func OwnOf[T any](b *Block, platform string) T {
	own, _ := b.Own[platform].(T)
	return own
}

// Runtime describes the model pods.
type Runtime struct {
	Image              string              `json:"image,omitempty" is:"image" doc:"image of the model server; required for rhaiis, rhoai isvc and Mooncake"`
	Replicas           int                 `json:"replicas,omitempty" default:"1" min:"1" doc:"number of model pods"`
	TensorParallelism  int                 `json:"tensor_parallelism,omitempty" default:"1" min:"1" doc:"GPUs per pod"`
	VLLMArgs           []string            `json:"vllm_args,omitempty" doc:"arguments appended to those that the platform sets"`
	Env                map[string]string   `json:"env,omitempty" keys:"env" secret:"true" doc:"environment variables, written in sorted order"`
	SharedMemorySize   string              `json:"shared_memory_size,omitempty" is:"quantity" doc:"size of a memory-backed /dev/shm; if absent, none"`
	HostPaths          []HostPath          `json:"host_paths,omitempty" doc:"hostPath volumes to mount"`
	PVCMounts          []PVCMount          `json:"pvc_mounts,omitempty" doc:"PersistentVolumeClaims to mount"`
	ServiceAccountName string              `json:"service_account_name,omitempty" is:"subdomain" doc:"service account of the model pods"`
	NodeSelector       map[string]string   `json:"node_selector,omitempty" keys:"labelkey" is:"labelvalue" doc:"labels of the nodes to run on"`
	Affinity           *corev1.Affinity    `json:"affinity,omitempty" doc:"Kubernetes affinity"`
	Placement          *Placement          `json:"placement,omitempty" doc:"rhoai except isvc: place the pods of a release on one node, or run points one at a time"`
	Tolerations        []corev1.Toleration `json:"tolerations,omitempty" doc:"Kubernetes tolerations"`
	ImagePullSecrets   []PullSecret        `json:"image_pull_secrets,omitempty" alias:"imagePullSecrets" doc:"Secrets for pulling images"`
	Resources          *Resources          `json:"resources,omitempty" doc:"resource requests and limits; devices also count against the quota, and engine sim uses only these"`
}

// PullSecret names a Secret.
type PullSecret struct {
	Name string `json:"name" req:"true" is:"subdomain" doc:"name of the Secret"`
}

// HostPath mounts a folder of the node.
type HostPath struct {
	Name      string `json:"name" req:"true" is:"label" doc:"name of the volume; not dshm, model-storage or vllm-profiler"`
	HostPath  string `json:"host_path" req:"true" is:"folder" doc:"path on the node"`
	MountPath string `json:"mount_path" req:"true" is:"folder" doc:"path in the container"`
	Type      string `json:"type,omitempty" enum:"DirectoryOrCreate|Directory|FileOrCreate|File|Socket|CharDevice|BlockDevice" doc:"Kubernetes hostPath type"`
	ReadOnly  bool   `json:"read_only,omitempty" default:"false" doc:"mount read-only"`
	Cleanup   bool   `json:"cleanup,omitempty" default:"false" doc:"delete the contents of the mount during cleanup"`
}

// PVCMount mounts a claim.
type PVCMount struct {
	Name         string            `json:"name" req:"true" is:"label" doc:"name of the volume; not dshm, model-storage or vllm-profiler"`
	ClaimName    string            `json:"claim_name" req:"true" alias:"pvc_name" is:"subdomain" doc:"name of the PersistentVolumeClaim"`
	MountPath    string            `json:"mount_path" req:"true" is:"folder" doc:"path in the container"`
	ReadOnly     bool              `json:"read_only,omitempty" default:"false" doc:"mount read-only"`
	Create       bool              `json:"create,omitempty" default:"false" doc:"create the claim before deployment and delete it during cleanup; needs size and access_modes"`
	StorageClass string            `json:"storage_class_name,omitempty" alias:"storage_class" is:"subdomain" doc:"storage class of a created claim"`
	Size         string            `json:"size,omitempty" is:"quantity" doc:"size of a created claim"`
	AccessModes  load.List[string] `json:"access_modes,omitempty" alias:"access_mode" enum:"ReadWriteOnce|ReadOnlyMany|ReadWriteMany|ReadWriteOncePod" doc:"access modes of a created claim"`
}

// Placement is where the pods of a release go.
type Placement struct {
	Mode       string `json:"mode,omitempty" enum:"same-node|sequential" doc:"same-node needs spread_pool; sequential runs one point at a time"`
	SpreadPool string `json:"spread_pool,omitempty" is:"labelvalue" doc:"pool whose releases are placed on different nodes; only with same-node"`
}

// Resources changes requests and limits of the model container.
type Resources struct {
	Requests       map[string]string `json:"requests,omitempty" keys:"labelkey" is:"quantity" doc:"requests by resource name"`
	Limits         map[string]string `json:"limits,omitempty" keys:"labelkey" is:"quantity" doc:"limits by resource name"`
	RemoveRequests []string          `json:"remove_requests,omitempty" is:"labelkey" doc:"resources to remove from requests"`
	RemoveLimits   []string          `json:"remove_limits,omitempty" is:"labelkey" doc:"resources to remove from limits"`
}

// ModelStorage says where model files lie: <claim>/<cache_dir>/<model folder>.
type ModelStorage struct {
	PVCName      string `json:"pvc_name,omitempty" default:"models-storage" is:"subdomain" doc:"PersistentVolumeClaim with the model files"`
	CacheDir     string `json:"cache_dir,omitempty" default:"/models" is:"folder" doc:"path on the claim; / = its root"`
	MountPath    string `json:"mount_path,omitempty" default:"/model-cache" is:"folder" doc:"path in the container"`
	ModelSubpath string `json:"model_subpath,omitempty" is:"relpath" doc:"subfolder to use instead of the model's name"`
}
