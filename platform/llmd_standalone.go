package platform

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/platform/engine"
	"bflow.dev/bflow/platform/stack"
	"bflow.dev/bflow/runplan"
)

// llmdVariables may be in options.epp_config beside those of every platform.
func llmdVariables() []string {
	return []string{"mode", "repo_ref", "gateway", "model_mount_path", "tensor_parallelism"}
}

// llmdRouter is the name of the objects of a router.
func llmdRouter(release string) string { return "gaie-" + release + "-epp" }

// llmdLacks says what of llm-d bflow cannot deploy yet.
func llmdLacks(b *Block) string {
	switch {
	case b.Gateway != gatewayStandalone:
		return "platform llm-d with gateway " + cmp.Or(b.Gateway, "istio")
	case b.Mode != modeBaseline && !slices.Contains(llmdDeployed(), b.Mode):
		return "mode " + b.Mode + " of platform llm-d"
	case b.Options.StorageOffloading != nil && b.Options.StorageOffloading.Enabled:
		return "platform llm-d with options.storage_offloading"
	}
	return ""
}

// pathOf is the path of a mode in a release.
func pathOf(s *stack.Stack, mode string) stack.Path {
	if mode == modeBaseline {
		mode = modeScheduling
	}
	return s.Paths[mode]
}

// checkRouter finds what would stop the endpoint picker, or have it choose by what is not there.
func checkRouter(b *Block) (out problem.Findings) {
	s, err := stack.Of(nameLLMD, cmp.Or(b.RepoRef, llmdRef))
	if err != nil {
		out.Add("repo_ref", "%v", err)
		return out
	}
	// What is wrong on every platform is said there.
	if own := b.Options.EPPConfig; own != "" && len(checkEPP(llmdVariables(), own)) == 0 {
		config, _ := sampleEPP(llmdVariables(), own)
		out.Under("options.epp_config", s.Picker.Check(config))
	}
	out.Under("runtime.vllm_args", checkCaching(b, &s, b.Runtime.VLLMArgs))
	return out
}

// checkCaching finds arguments that turn off a cache by which the endpoint picker chooses.
func checkCaching(b *Block, s *stack.Stack, args []string) (out problem.Findings) {
	config := pathOf(s, b.Mode).Config
	if b.Options.EPPConfig != "" {
		config, _ = sampleEPP(llmdVariables(), b.Options.EPPConfig)
	}
	if !stack.ScoresPrefixes(config) {
		return nil
	}
	for i, arg := range args {
		if cachesNoPrefixes(arg) {
			out.Add("["+strconv.Itoa(i)+"]",
				"the endpoint picker chooses pods by the prefixes in their caches, and %s turns those off; remove it, or name "+
					"other plugins in options.epp_config", arg)
		}
	}
	return out
}

// checkLLMDEngine finds what an engine lacks for the path of requests.
func checkLLMDEngine(b *Block, e *runplan.Engine) (out problem.Findings) {
	s, err := stack.Of(nameLLMD, cmp.Or(b.RepoRef, llmdRef))
	if err != nil || llmdLacks(b) != "" {
		return nil
	}
	out.Under("engine.args", checkCaching(b, &s, e.Args))
	if path := pathOf(&s, b.Mode); len(path.Args) > 0 && engine.Of(e.Kind).MetricsOf != engine.Default {
		out.Add("engine.kind", "mode %s sets arguments of vLLM, which engine %q does not have", b.Mode, e.Kind)
	}
	return out
}

// cachesNoPrefixes reports whether an argument turns the cache of prefixes of vLLM off.
func cachesNoPrefixes(arg string) bool {
	switch strings.ToLower(strings.ReplaceAll(arg, "_", "-")) {
	case "--no-enable-prefix-caching", "--enable-prefix-caching=false":
		return true
	}
	return false
}

// planLLMD fills in the images of a release that the file leaves open.
func planLLMD(b *Block, d *runplan.Deployment) {
	d.RepoURL, d.RepoRef, d.Gateway = b.RepoURL, b.RepoRef, b.Gateway
	if llmdLacks(b) != "" {
		return
	}
	s, err := stack.Of(nameLLMD, b.RepoRef)
	if err != nil {
		return // which Check says
	}
	d.SchedulerImage, d.ProxyImage = cmp.Or(d.SchedulerImage, s.Images.Picker), cmp.Or(b.ProxyImage, s.Images.Proxy)
	if engine.Of(d.Engine.Kind).Kind == engine.Default {
		d.Engine.Image = cmp.Or(d.Engine.Image, s.Images.Engine)
	}
}

// llmdObjects are the router, the claims and the model servers of a release.
func llmdObjects(r Release) ([]runtime.Object, error) {
	d := &r.Plan.Deployment
	s, err := stack.Of(nameLLMD, d.RepoRef)
	if err != nil {
		return nil, err
	}
	var options struct {
		EPPConfig    string `json:"epp_config"`
		EPPVerbosity *int   `json:"epp_verbosity"`
	}
	if err := readOptions(d, &options); err != nil {
		return nil, err
	}
	path := pathOf(&s, d.Mode)
	config := cmp.Or(options.EPPConfig, path.Config)
	if config, err = RenderEPP(config, r.eppValues()); err != nil {
		return nil, fmt.Errorf("filling in options.epp_config: %w", err)
	}
	if found := append(checkEPP(nil, config), s.Picker.Check(config)...); len(found) > 0 {
		return nil, fmt.Errorf("filling in options.epp_config: %s", found[0].Text)
	}
	of := router{name: llmdRouter(r.Name), picker: d.SchedulerImage, proxy: d.ProxyImage, config: config, verbosity: 2}
	if options.EPPVerbosity != nil {
		of.verbosity = *options.EPPVerbosity
	}
	claims, err := r.Claims()
	return append(append(of.objects(r), claims...), r.llmdServers(path)), err
}

// llmdServers are the model servers, with the labels that llm-d gives them and the arguments that their path needs.
func (r Release) llmdServers(path stack.Path) *appsv1.Deployment {
	servers := r.Deployment()
	servers.Name = "ms-" + r.Name + "-decode"
	labels := maps.Clone(servers.Spec.Template.Labels)
	maps.Copy(labels, map[string]string{
		"llm-d.ai/inferenceServing": "true", "llm-d.ai/guide": path.Guide, "llm-d.ai/role": "prefill-decode",
	})
	kind := engine.Of(r.Plan.Deployment.Engine.Kind)
	if kind.MetricsOf != "" {
		labels["llm-d.ai/engine-type"], labels["inference.networking.k8s.io/engine-type"] = kind.MetricsOf, kind.MetricsOf
	}
	servers.Spec.Template.Labels = labels
	if kind.Kind == engine.Default { // a simulator of it does not know them
		server := &servers.Spec.Template.Spec.Containers[0]
		server.Args = append(slices.Clone(server.Args), path.Missing(server.Args)...)
	}
	return servers
}
