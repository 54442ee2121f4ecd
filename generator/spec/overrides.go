package spec

import corev1 "k8s.io/api/core/v1"

// Overrides beat the profiles. model_overrides has the same shape.
type Overrides struct {
	Images    ImageOverrides     `json:"images,omitempty" doc:"images"`
	Scale     ScaleOverrides     `json:"scale,omitempty" doc:"pods and GPUs"`
	LLMD      LLMDOverrides      `json:"llm_d,omitempty" doc:"platform llm-d; ignored on others"`
	RHOAI     RHOAIOverrides     `json:"rhoai,omitempty" doc:"platform rhoai; ignored on others"`
	Runtime   RuntimeOverrides   `json:"runtime,omitempty" doc:"model pods"`
	Benchmark BenchmarkOverrides `json:"benchmark,omitempty" doc:"the load"`
}

// ImageOverrides replaces images.
type ImageOverrides struct {
	Runtime   Axis[string] `json:"runtime,omitempty" is:"image" doc:"model-server image"`
	Scheduler Axis[string] `json:"scheduler,omitempty" is:"image" doc:"endpoint-picker image: llm-d, and rhoai except mode isvc"`
}

// ScaleOverrides replaces counts.
type ScaleOverrides struct {
	Replicas          Axis[int] `json:"replicas,omitempty" min:"1" doc:"model pods"`
	TensorParallelism Axis[int] `json:"tensor_parallelism,omitempty" min:"1" doc:"GPUs per pod"`
}

// LLMDOverrides is for platform llm-d.
type LLMDOverrides struct {
	RepoRef Axis[string] `json:"repo_ref,omitempty" doc:"llm-d release"`
}

// RHOAIOverrides is for platform rhoai.
type RHOAIOverrides struct {
	EnableAuth *bool `json:"enable_auth,omitempty" doc:"sets options.enable_auth"`
}

// RuntimeOverrides changes the model pods.
type RuntimeOverrides struct {
	Env                map[string]string            `json:"env,omitempty" keys:"env" secret:"true" doc:"environment, merged by key; a blank one removes the variable"`
	VLLMArgs           Replace[[]string]            `json:"vllm_args,omitzero" doc:"replaces every weaker list; [] clears"`
	VLLMExtraArgs      []string                     `json:"vllm_extra_args,omitempty" doc:"appended to the chosen vllm_args"`
	HostPaths          Replace[[]HostPath]          `json:"host_paths,omitzero" null:"clears" doc:"replaces the profile's; empty clears"`
	ServiceAccountName string                       `json:"service_account_name,omitempty" is:"subdomain" doc:"account of the model pods"`
	NodeSelector       Replace[map[string]string]   `json:"node_selector,omitzero" null:"clears" keys:"labelkey" is:"labelvalue" doc:"replaces the profile's; empty clears"`
	Affinity           Replace[*corev1.Affinity]    `json:"affinity,omitzero" null:"clears" doc:"replaces the profile's; empty clears"`
	Placement          Replace[Placement]           `json:"placement,omitzero" null:"clears" doc:"replaces the profile's; empty clears"`
	Tolerations        Replace[[]corev1.Toleration] `json:"tolerations,omitzero" null:"clears" doc:"replaces the profile's; empty clears"`
	Resources          *Resources                   `json:"resources,omitempty" doc:"changes requests and limits; a model's block replaces the experiment's"`
}

// BenchmarkOverrides changes the load of a tool block.
type BenchmarkOverrides struct {
	Rates       List[float64]     `json:"rates,omitempty" above:"0" doc:"load points of a guidellm profile, not an axis"`
	MaxSeconds  int               `json:"max_seconds,omitempty" min:"1" unit:"s" doc:"replaces the duration bound"`
	MaxRequests Count             `json:"max_requests,omitzero" doc:"replaces the request bound: a number or N*concurrency"`
	RequestType string            `json:"request_type,omitempty" is:"requesttype" doc:"API of the requests"`
	PromptForm  string            `json:"prompt_form,omitempty" enum:"auto|text" implied:"auto" doc:"text = words whatever the API, so that chat and completions are sent the same prompts"`
	Env         map[string]string `json:"env,omitempty" keys:"env" secret:"true" doc:"environment of the load pod, merged by key; a blank one removes the variable"`
}
