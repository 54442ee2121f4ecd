package spec

import (
	corev1 "k8s.io/api/core/v1"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/platform"
)

// Overrides beat the profiles. model_overrides has the same shape.
type Overrides struct {
	Images    ImageOverrides          `json:"images,omitempty" doc:"images to use"`
	Scale     ScaleOverrides          `json:"scale,omitempty" doc:"number of pods and GPUs"`
	LLMD      LLMDOverrides           `json:"llm_d,omitempty" doc:"only for platform llm-d; ignored on others"`
	RHOAI     RHOAIOverrides          `json:"rhoai,omitempty" doc:"only for platform rhoai; ignored on others"`
	Runtime   RuntimeOverrides        `json:"runtime,omitempty" doc:"settings of the model pods"`
	Benchmark tool.BenchmarkOverrides `json:"benchmark,omitempty" doc:"settings of the load"`
}

// ImageOverrides replaces images.
type ImageOverrides struct {
	Runtime   Axis[string] `json:"runtime,omitempty" is:"image" doc:"image of the model server"`
	Scheduler Axis[string] `json:"scheduler,omitempty" is:"image" doc:"image of the endpoint picker: llm-d, and rhoai except mode isvc"`
}

// ScaleOverrides replaces counts.
type ScaleOverrides struct {
	Replicas          Axis[int] `json:"replicas,omitempty" min:"1" doc:"number of model pods"`
	TensorParallelism Axis[int] `json:"tensor_parallelism,omitempty" min:"1" doc:"GPUs per pod"`
}

// LLMDOverrides is for platform llm-d.
type LLMDOverrides struct {
	RepoRef Axis[string] `json:"repo_ref,omitempty" doc:"release of llm-d"`
}

// RHOAIOverrides is for platform rhoai.
type RHOAIOverrides struct {
	EnableAuth *bool `json:"enable_auth,omitempty" doc:"sets options.enable_auth"`
}

// RuntimeOverrides changes the model pods.
type RuntimeOverrides struct {
	Env                map[string]string            `json:"env,omitempty" keys:"env" secret:"true" doc:"environment variables, merged by name; an empty value removes the variable"`
	VLLMArgs           Replace[[]string]            `json:"vllm_args,omitzero" doc:"replaces the lists with lower precedence; [] clears them"`
	VLLMExtraArgs      []string                     `json:"vllm_extra_args,omitempty" doc:"arguments appended to the effective vllm_args"`
	HostPaths          Replace[[]platform.HostPath] `json:"host_paths,omitzero" null:"clears" doc:"replaces the profile's list; an empty list clears it"`
	ServiceAccountName string                       `json:"service_account_name,omitempty" is:"subdomain" doc:"service account of the model pods"`
	NodeSelector       Replace[map[string]string]   `json:"node_selector,omitzero" null:"clears" keys:"labelkey" is:"labelvalue" doc:"replaces the profile's value; empty clears it"`
	Affinity           Replace[*corev1.Affinity]    `json:"affinity,omitzero" null:"clears" doc:"replaces the profile's value; empty clears it"`
	Placement          Replace[platform.Placement]  `json:"placement,omitzero" null:"clears" doc:"replaces the profile's value; empty clears it"`
	Tolerations        Replace[[]corev1.Toleration] `json:"tolerations,omitzero" null:"clears" doc:"replaces the profile's value; empty clears it"`
	Resources          *platform.Resources          `json:"resources,omitempty" doc:"changes to requests and limits; a block in model_overrides replaces the experiment's"`
}
