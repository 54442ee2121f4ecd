package platform

import (
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/platform/stack"
	"bflow.dev/bflow/runplan"
)

// standalone is a router without a gateway.
func standalone() *Block {
	return &Block{Platform: nameLLMD, Mode: modeScheduling, Gateway: gatewayStandalone, RepoRef: "v0.9.0"}
}

func TestWhatARouterNeedsIsChecked(t *testing.T) {
	const head = "apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n"
	for _, row := range []struct {
		name       string
		of         func(b *Block)
		path, want string // "" = nothing is found
	}{
		{"a release that bflow knows", func(*Block) {}, "", ""},
		{"another one", func(b *Block) { b.RepoRef = "v0.3.0" }, "repo_ref", `unknown release "v0.3.0" of llm-d`},
		{"another one behind a gateway, which is not deployed yet", func(b *Block) {
			b.RepoRef, b.Gateway = "v0.8.0", "istio"
		}, "", ""},
		{"no cache of prefixes for a picker that looks at them", func(b *Block) {
			b.Runtime.VLLMArgs = []string{"--seed=1", "--no-enable-prefix-caching"}
		}, "runtime.vllm_args[1]", "turns those off"},
		{"none for a picker that does not", func(b *Block) {
			b.Runtime.VLLMArgs = []string{"--no-enable-prefix-caching"}
			b.Options.EPPConfig = head + "plugins: [{type: queue-scorer}]\n" +
				"schedulingProfiles: [{name: default}]"
		}, "", ""},
		{"what may be a credential", func(b *Block) {
			b.Options.EPPConfig = "kind: EndpointPickerConfig\nplugins: [{type: token-producer, parameters: {api_key: sk-1234}}]"
		}, "options.epp_config", "it contains what may be a credential"},
		{"two documents", func(b *Block) { b.Options.EPPConfig = "kind: EndpointPickerConfig\n---\n{}" },
			"options.epp_config", "want one document, found several"},
		{"another spelling of no cache", func(b *Block) {
			b.Runtime.VLLMArgs = []string{"--enable_prefix_caching=False"}
		}, "runtime.vllm_args[0]", "--enable_prefix_caching=False turns those off"},
		{"a plugin that the release has not", func(b *Block) {
			b.Options.EPPConfig = head + "plugins: [{type: 'a{{ mode }}'}]\n" +
				"schedulingProfiles: [{name: default}]"
		}, "options.epp_config", `plugins[0]: unknown type "a8"`},
		{"a variable that it has not", func(b *Block) { b.Options.EPPConfig = "kind: {{ kind }}" },
			"options.epp_config", `unknown variable "kind"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := standalone()
			row.of(b)
			found := All().Check(b)
			switch {
			case row.want == "" && len(found) > 0:
				t.Errorf("found %v", found)
			case row.want != "" && (len(found) != 1 || found[0].Path != row.path || !strings.Contains(found[0].Text, row.want)):
				t.Errorf("found %v, want %q at %s", found, row.want, row.path)
			}
		})
	}
}

// TestAnEngineFitsThePathOfItsRequests, or it is said where it does not.
func TestAnEngineFitsThePathOfItsRequests(t *testing.T) {
	for _, row := range []struct {
		name       string
		mode       string
		engine     runplan.Engine
		path, want string // "" = nothing is found
	}{
		{"vLLM", modeTiered, runplan.Engine{Kind: "vllm"}, "", ""},
		{"a simulator of it", modeTiered, runplan.Engine{Kind: "llm-d-inference-sim"}, "", ""},
		{"another engine where a path sets arguments of vLLM", modeTiered, runplan.Engine{Kind: "sglang"}, "engine.kind",
			`mode tiered-prefix-cache sets arguments of vLLM, which engine "sglang" does not have`},
		{"another engine where it does not", modeFlowControl, runplan.Engine{Kind: "sglang"}, "", ""},
		{"arguments of its own that turn the cache off", modeBaseline,
			runplan.Engine{Kind: "vllm", Args: []string{"--seed=1", "--no-enable-prefix-caching"}}, "engine.args[1]",
			"--no-enable-prefix-caching turns those off"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := standalone()
			b.Mode = row.mode
			found := All().Named(nameLLMD).CheckEngine(b, &row.engine)
			switch {
			case row.want == "" && len(found) > 0:
				t.Errorf("found %v", found)
			case row.want != "" && (len(found) != 1 || found[0].Path != row.path || !strings.Contains(found[0].Text, row.want)):
				t.Errorf("found %v, want %q at %s", found, row.want, row.path)
			}
		})
	}
}

// TestAPathAddsWhatAFileLeavesOpen: the same flag of a file counts, however it is spelt.
func TestAPathAddsWhatAFileLeavesOpen(t *testing.T) {
	path := stack.Path{Args: []string{"--a-b=1", "--c=2"}}
	got := path.Missing([]string{"--a_b", "7", "--cc=1"})
	if !slices.Equal(got, []string{"--c=2"}) {
		t.Errorf("got %q", got)
	}
}

func TestWhatOnlyARouterHasIsSaidElsewhere(t *testing.T) {
	b := &Block{Platform: nameKubernetes, Mode: "plain", Gateway: gatewayStandalone, ProxyImage: "acme/envoy:v1"}
	var paths []string
	for _, f := range All().Check(b) {
		if f.Warning {
			paths = append(paths, f.Path)
		}
	}
	if !slices.Equal(paths, []string{"gateway", "proxy_image"}) {
		t.Errorf("warnings at %q", paths)
	}
}

func TestWhatBflowCannotDeployIsNamed(t *testing.T) {
	for _, row := range []struct {
		of   func(b *Block)
		want string
	}{
		{func(*Block) {}, ""},
		{func(b *Block) { b.Mode = modeBaseline }, ""},
		{func(b *Block) { b.Mode = modeFlowControl }, ""},
		{func(b *Block) { b.Mode = modeTiered }, ""},
		{func(b *Block) { b.Gateway = "" }, "platform llm-d with gateway istio"},
		{func(b *Block) { b.Mode = "precise-prefix-cache" }, "mode precise-prefix-cache of platform llm-d"},
		{func(b *Block) { b.Options.StorageOffloading = &StorageOffloading{Enabled: true} },
			"platform llm-d with options.storage_offloading"},
		{func(b *Block) { b.Platform, b.Mode = "rhoai", modeISVC }, "platform rhoai"},
	} {
		b := standalone()
		row.of(b)
		if got := All().Named(b.Platform).Lacks(b); got != row.want {
			t.Errorf("%+v: %q, want %q", b, got, row.want)
		}
	}
	d := &runplan.Deployment{Platform: nameLLMD, Mode: modeScheduling, Gateway: gatewayStandalone,
		Options: []byte(`{"storage_offloading": {"enabled": true}, "startup_probe": false}`)}
	if got := All().Named(nameLLMD).LacksFor(d); got != "platform llm-d with options.storage_offloading" {
		t.Errorf("a plan lacks %q", got)
	}
}

// TestAReleaseNamesTheImagesOfItsParts that the file leaves open, so that plans say what is measured.
func TestAReleaseNamesTheImagesOfItsParts(t *testing.T) {
	p := All().Named(nameLLMD)
	d := &runplan.Deployment{Engine: runplan.Engine{Kind: "vllm"}}
	p.Plan(standalone(), d)
	if !strings.Contains(d.Engine.Image, "vllm") || !strings.Contains(d.SchedulerImage, "endpoint-picker") ||
		!strings.Contains(d.ProxyImage, "envoy") {
		t.Errorf("%+v", d)
	}
	b := standalone()
	b.ProxyImage = "acme/envoy:v1"
	d = &runplan.Deployment{Engine: runplan.Engine{Kind: "sim"}, SchedulerImage: "acme/epp:v1"}
	p.Plan(b, d)
	if d.Engine.Image != "" || d.SchedulerImage != "acme/epp:v1" || d.ProxyImage != "acme/envoy:v1" {
		t.Errorf("%+v", d)
	}
	b.Gateway = "istio"
	d = &runplan.Deployment{Engine: runplan.Engine{Kind: "vllm"}}
	if p.Plan(b, d); d.Engine.Image != "" || p.SetupKey(d) == "" {
		t.Errorf("%+v", d)
	}
	if d.Gateway = gatewayStandalone; p.SetupKey(d) != "" {
		t.Errorf("runs share %q", p.SetupKey(d))
	}
}
