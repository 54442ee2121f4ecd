package spec

import corev1 "k8s.io/api/core/v1"

// DeploymentSpec is the body of a DeploymentProfile.
type DeploymentSpec struct {
	Platform         string          `json:"platform" req:"true" enum:"rhaiis|rhoai|llm-d|kubernetes" doc:"what the server is deployed with"`
	Mode             string          `json:"mode" req:"true" doc:"variant of the platform"`
	Runtime          Runtime         `json:"runtime,omitempty" doc:"model pods"`
	ModelStorage     ModelStorage    `json:"model_storage,omitempty" doc:"where model files lie"`
	Namespace        string          `json:"namespace,omitempty" is:"label" doc:"namespace, unless the experiment has one"`
	RepoURL          string          `json:"repo_url,omitempty" is:"url" implied:"https://github.com/llm-d/llm-d" doc:"llm-d only: repository"`
	RepoRef          string          `json:"repo_ref,omitempty" implied:"main" doc:"llm-d only: release; selects the object layout"`
	PlatformVersion  string          `json:"platform_version,omitempty" implied:"3.3 (rhoai)" doc:"operator version"`
	PlatformChannel  string          `json:"platform_channel,omitempty" implied:"fast-3.x (rhoai)" doc:"operator channel"`
	Gateway          string          `json:"gateway,omitempty" default:"istio" enum:"istio|standalone" doc:"llm-d only: how requests enter"`
	EndpointPath     string          `json:"endpoint_path,omitempty" default:"/v1/models" is:"abspath" doc:"readiness path"`
	EndpointScope    string          `json:"endpoint_scope,omitempty" default:"external" enum:"external|internal" doc:"which URL is used"`
	SchedulerImage   string          `json:"scheduler_image,omitempty" is:"image" doc:"endpoint-picker image"`
	SchedulerProfile string          `json:"scheduler_profile,omitempty" doc:"carried along, used in no object"`
	Options          PlatformOptions `json:"options,omitempty" doc:"platform features"`
	Engine           *Engine         `json:"engine,omitempty" doc:"the server under test, when it is not vLLM as the platform runs it"`
}

// Runtime describes the model pods.
type Runtime struct {
	Image              string              `json:"image,omitempty" is:"image" doc:"model-server image; required for rhaiis, rhoai isvc and Mooncake"`
	Replicas           int                 `json:"replicas,omitempty" default:"1" min:"1" doc:"model pods"`
	TensorParallelism  int                 `json:"tensor_parallelism,omitempty" default:"1" min:"1" doc:"GPUs per pod"`
	VLLMArgs           []string            `json:"vllm_args,omitempty" doc:"arguments after those the platform owns"`
	Env                map[string]string   `json:"env,omitempty" keys:"env" secret:"true" doc:"environment, written sorted"`
	SharedMemorySize   string              `json:"shared_memory_size,omitempty" is:"quantity" doc:"memory-backed /dev/shm; absent = none"`
	HostPaths          []HostPath          `json:"host_paths,omitempty" doc:"folders of the node"`
	PVCMounts          []PVCMount          `json:"pvc_mounts,omitempty" doc:"claims"`
	ServiceAccountName string              `json:"service_account_name,omitempty" is:"subdomain" doc:"account of the model pods"`
	NodeSelector       map[string]string   `json:"node_selector,omitempty" keys:"labelkey" is:"labelvalue" doc:"labels of the nodes"`
	Affinity           *corev1.Affinity    `json:"affinity,omitempty" doc:"Kubernetes affinity"`
	Placement          *Placement          `json:"placement,omitempty" doc:"rhoai except isvc: pods of a release together, or points one by one"`
	Tolerations        []corev1.Toleration `json:"tolerations,omitempty" doc:"Kubernetes tolerations"`
	ImagePullSecrets   []PullSecret        `json:"image_pull_secrets,omitempty" alias:"imagePullSecrets" doc:"Secrets to pull images with"`
	Resources          *Resources          `json:"resources,omitempty" doc:"requests and limits; devices among them are asked of the queue too, and engine sim takes these alone"`
}

// PullSecret names a Secret.
type PullSecret struct {
	Name string `json:"name" req:"true" is:"subdomain" doc:"name of the Secret"`
}

// HostPath mounts a folder of the node.
type HostPath struct {
	Name      string `json:"name" req:"true" is:"label" doc:"name of the volume; not dshm, model-storage or vllm-profiler"`
	HostPath  string `json:"host_path" req:"true" is:"folder" doc:"folder on the node"`
	MountPath string `json:"mount_path" req:"true" is:"folder" doc:"folder in the container"`
	Type      string `json:"type,omitempty" enum:"DirectoryOrCreate|Directory|FileOrCreate|File|Socket|CharDevice|BlockDevice" doc:"Kubernetes hostPath type"`
	ReadOnly  bool   `json:"read_only,omitempty" default:"false" doc:"mount read-only"`
	Cleanup   bool   `json:"cleanup,omitempty" default:"false" doc:"empty the mount before removal"`
}

// PVCMount mounts a claim.
type PVCMount struct {
	Name         string       `json:"name" req:"true" is:"label" doc:"name of the volume; not dshm, model-storage or vllm-profiler"`
	ClaimName    string       `json:"claim_name" req:"true" alias:"pvc_name" is:"subdomain" doc:"name of the claim"`
	MountPath    string       `json:"mount_path" req:"true" is:"folder" doc:"folder in the container"`
	ReadOnly     bool         `json:"read_only,omitempty" default:"false" doc:"mount read-only"`
	Create       bool         `json:"create,omitempty" default:"false" doc:"make the claim before deploy, delete it at cleanup; needs size and access_modes"`
	StorageClass string       `json:"storage_class_name,omitempty" alias:"storage_class" is:"subdomain" doc:"class of a created claim"`
	Size         string       `json:"size,omitempty" is:"quantity" doc:"size of a created claim"`
	AccessModes  List[string] `json:"access_modes,omitempty" alias:"access_mode" enum:"ReadWriteOnce|ReadOnlyMany|ReadWriteMany|ReadWriteOncePod" doc:"access modes of a created claim"`
}

// Placement is where the pods of a release go.
type Placement struct {
	Mode       string `json:"mode,omitempty" enum:"same-node|sequential" doc:"same-node needs spread_pool; sequential runs one point at a time"`
	SpreadPool string `json:"spread_pool,omitempty" is:"labelvalue" doc:"pool whose releases keep apart; only with same-node"`
}

// Resources changes requests and limits of the model container.
type Resources struct {
	Requests       map[string]string `json:"requests,omitempty" keys:"labelkey" is:"quantity" doc:"resource to quantity"`
	Limits         map[string]string `json:"limits,omitempty" keys:"labelkey" is:"quantity" doc:"resource to quantity"`
	RemoveRequests []string          `json:"remove_requests,omitempty" is:"labelkey" doc:"resources taken out of requests"`
	RemoveLimits   []string          `json:"remove_limits,omitempty" is:"labelkey" doc:"resources taken out of limits"`
}

// ModelStorage says where model files lie: <claim>/<cache_dir>/<model folder>.
type ModelStorage struct {
	PVCName      string `json:"pvc_name,omitempty" default:"models-storage" is:"subdomain" doc:"claim with the model files"`
	CacheDir     string `json:"cache_dir,omitempty" default:"/models" is:"folder" doc:"folder on the claim; / = its root"`
	MountPath    string `json:"mount_path,omitempty" default:"/model-cache" is:"folder" doc:"folder in the container"`
	ModelSubpath string `json:"model_subpath,omitempty" is:"relpath" doc:"replaces the model folder's name"`
}
