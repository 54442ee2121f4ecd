package spec

// PlatformOptions are features of a platform.
type PlatformOptions struct {
	EnableAuth        bool               `json:"enable_auth,omitempty" default:"false" doc:"rhoai: require a token at the endpoint"`
	EPPConfig         string             `json:"epp_config,omitempty" doc:"configuration of the endpoint picker, as YAML text with {{ variable }}; not for isvc"`
	EPPVerbosity      *int               `json:"epp_verbosity,omitempty" min:"0" doc:"log level of the endpoint picker; not for isvc"`
	StartupProbe      *Probe             `json:"startup_probe,omitempty" doc:"rhoai LLM service: fields merged over the default startup probe; false removes it"`
	MooncakeStore     *MooncakeStore     `json:"mooncake_store,omitempty" doc:"rhoai LLM service: distributed KV cache"`
	StorageOffloading *StorageOffloading `json:"storage_offloading,omitempty" doc:"llm-d 0.6 or later: KV cache offloading to shared storage"`
	Accelerator       string             `json:"accelerator,omitempty" doc:"llm-d: image family if tag accelerator is not set"`
	InfraProvider     string             `json:"infra_provider,omitempty" doc:"llm-d: gke selects the variant for GKE"`
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
