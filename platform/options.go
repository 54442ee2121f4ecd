package platform

import "bflow.dev/bflow/load"

// Options are features of platforms, in the order in which plans have them.
type Options struct {
	EnableAuth        bool               `json:"enable_auth,omitempty" default:"false" doc:"rhoai: require a token at the endpoint"`
	EPPConfig         string             `json:"epp_config,omitempty" doc:"configuration of the endpoint picker, as YAML text with {{ variable }}; not for isvc"`
	EPPVerbosity      *int               `json:"epp_verbosity,omitempty" min:"0" doc:"log level of the endpoint picker; not for isvc"`
	StartupProbe      *Probe             `json:"startup_probe,omitempty" doc:"rhoai LLM service: fields merged over the default startup probe; false removes it"`
	MooncakeStore     *MooncakeStore     `json:"mooncake_store,omitempty" doc:"distributed KV cache; rhoai LLM service only"`
	StorageOffloading *StorageOffloading `json:"storage_offloading,omitempty" doc:"KV cache offloading to shared storage; llm-d 0.6 or later only"`
	Accelerator       string             `json:"accelerator,omitempty" doc:"llm-d: image family if tag accelerator is not set"`
	InfraProvider     string             `json:"infra_provider,omitempty" doc:"llm-d: gke selects the variant for GKE"`
}

// Probe is a patch over a default Kubernetes probe, or off.
type Probe struct {
	Off   bool
	Patch load.Object
}

// MarshalJSON writes false for a probe that is off, else the patch.
func (p Probe) MarshalJSON() ([]byte, error) {
	if p.Off {
		return []byte("false"), nil
	}
	return p.Patch.MarshalJSON()
}
