package platform

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/runplan"
)

// Platform is one way to deploy a model server. A function that is nil is replaced by the usual one, which its comment
// names, when the platform becomes part of a Registry.
type Platform struct {
	Name  string // as files and plans have it
	About string // what it is, in a few words
	Modes []Mode // its variants; none for what no file names as its platform

	// Own is a struct with the fields that files have under the platform's name, nil where there are none.
	Own any
	// Features are fields of Block that only this platform has.
	Features []Feature
	// AnyEngine says that it runs other engines than vLLM, too; OpenAIOnly that requests have to be those of OpenAI's API;
	// Profiling that the workers of its servers can be profiled.
	AnyEngine, OpenAIOnly, Profiling bool
	// EPPVariables may be in options.epp_config, beside those that every platform has.
	EPPVariables []string
	// NeedsImage reports whether a file has to name the image of the server. Usually it has not.
	NeedsImage func(b *Block) bool
	// Check finds broken rules between fields, with paths relative to spec. Usually there are none.
	Check func(b *Block) problem.Findings
	// CheckEngine finds what of an engine does not fit, with paths relative to spec. Usually everything does.
	CheckEngine func(b *Block, e *runplan.Engine) problem.Findings
	// Defaults fills in what the platform implies, Override applies the overrides that it reads. Usually there are none.
	Defaults func(b *Block)
	Override func(b *Block, o Overrides)
	// Version is that of the platform in a plan, usually platform_version.
	Version func(b *Block, image string) string

	// Plan fills in fields of a plan that only this platform has. Usually there are none.
	Plan func(b *Block, d *runplan.Deployment)
	// Identity clears what does not change what is measured, for the hash of a plan. Usually everything counts.
	Identity func(d *runplan.Deployment)
	// SetupKey identifies the state that runs share on their target. Usually there is none.
	SetupKey func(d *runplan.Deployment) string
	// Requests are the devices that a run takes, by name: usually those of its pods.
	Requests func(d *runplan.Deployment) (map[string]int, error)
	// Label names the software under test, usually by platform and mode; commit is that of RepoRef where it is known.
	Label func(d *runplan.Deployment, commit string) string
	// Patterns match the pods of a release, usually by its name.
	Patterns func(b *Block, release string) Patterns

	// Kinds are those of Objects, as the table Kinds names them, in the order in which they are removed.
	Kinds []string
	// Objects are what a release consists of, in the order in which they are created. The first Service owns its Secrets
	// and ConfigMaps. Where the function is nil, bflow cannot deploy the platform yet.
	Objects func(r Release) ([]runtime.Object, error)
	// Lacks names what of b bflow cannot deploy yet, "" where it can deploy all: usually the platform without Objects.
	// Deploys says what it can deploy, of a platform of which it cannot deploy all.
	Lacks   func(b *Block) string
	Deploys string
	// Pods is how many pods a release has, usually one per replica. Those of model servers have the role of engines.
	Pods func(d *runplan.Deployment) int
	// Ready reports whether the objects that make pods are as they should be.
	Ready func(workloads []*unstructured.Unstructured) bool
	// Endpoint is where requests go, usually the Service of the release.
	Endpoint func(d *runplan.Deployment, release string) Address
}

// Mode is a variant of a platform.
type Mode struct {
	Name      string
	Plan      Variant // what plans call it, where that differs
	Scheduler bool    // an endpoint picker chooses the pod of a request
	Port      int     // of the server, where the file names none; 0 = as the engine has it
}

// Variant is a mode of a platform.
type Variant struct{ Platform, Mode string }

// Feature is a field of Block that only some modes of one platform have.
type Feature struct {
	Path   string              // below spec
	Used   func(b *Block) bool // whether a file sets it
	Except []string            // modes that lack it
	Else   string              // what to say of it elsewhere
	Fails  bool                // it is an error elsewhere, not a warning
}

// Overrides are the values of an experiment that only some platforms read.
type Overrides struct {
	RepoRef    string // "" = none
	EnableAuth *bool
}

// Patterns are regular expressions for the queries of a MetricsProfile.
type Patterns struct {
	Server, Scheduler string // names of pods
	SchedulerPort     string // name of the port with the metrics of the endpoint picker
}

// MatchesNothing stands where a deployment has no such part.
const MatchesNothing = "a^"

// Address is where the requests of a run go.
type Address struct {
	URL     string // of a server that is there already
	Service string // name of a Service in the namespace of the run
	Port    int    // of that Service
}

// LacksFor is Lacks for the deployment of a plan.
func (p *Platform) LacksFor(d *runplan.Deployment) string {
	b := Block{Platform: d.Platform, Mode: d.Mode, Gateway: d.Gateway}
	var options struct {
		StorageOffloading *StorageOffloading `json:"storage_offloading"`
	}
	if readOptions(d, &options) == nil {
		b.Options.StorageOffloading = options.StorageOffloading
	}
	return p.Lacks(&b)
}

// lacksObjects is a platform without objects, where it should have any.
func (p *Platform) lacksObjects(*Block) string {
	if p.Objects == nil && len(p.Modes) > 0 {
		return "platform " + p.Name
	}
	return ""
}

// ModeNames are the names of the modes.
func (p *Platform) ModeNames() []string {
	names := make([]string, len(p.Modes))
	for i, m := range p.Modes {
		names[i] = m.Name
	}
	return names
}

// Mode returns a mode by name, the zero value for an unknown one.
func (p *Platform) Mode(name string) Mode {
	if i := slices.IndexFunc(p.Modes, func(m Mode) bool { return m.Name == name }); i >= 0 {
		return p.Modes[i]
	}
	return Mode{}
}

// PodKinds are the kinds of its objects that make pods.
func (p *Platform) PodKinds() []Kind {
	return slices.DeleteFunc(p.KindsRemoved(), func(k Kind) bool { return !k.MakesPods })
}

// KindsRemoved are the kinds of its objects, in the order in which they are removed.
func (p *Platform) KindsRemoved() []Kind {
	var kinds []Kind
	for _, name := range p.Kinds {
		if k, ok := FindKind(name); ok {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// has reports whether the platform has a feature in a mode.
func (p *Platform) has(f Feature, mode string) bool {
	return !slices.Contains(f.Except, mode) &&
		slices.ContainsFunc(p.Features, func(own Feature) bool { return own.Path == f.Path })
}

// complete returns p with the usual functions where it names none.
func complete(p Platform) *Platform {
	if p.NeedsImage == nil {
		p.NeedsImage = func(*Block) bool { return false }
	}
	if p.Check == nil {
		p.Check = func(*Block) problem.Findings { return nil }
	}
	if p.CheckEngine == nil {
		p.CheckEngine = func(*Block, *runplan.Engine) problem.Findings { return nil }
	}
	if p.Defaults == nil {
		p.Defaults = func(*Block) {}
	}
	if p.Override == nil {
		p.Override = func(*Block, Overrides) {}
	}
	if p.Version == nil {
		p.Version = func(b *Block, _ string) string { return b.PlatformVersion }
	}
	completePlan(&p)
	if p.Lacks == nil {
		p.Lacks = p.lacksObjects
	}
	if p.Pods == nil {
		p.Pods = replicas
	}
	if p.Endpoint == nil {
		p.Endpoint = func(d *runplan.Deployment, release string) Address {
			return Address{Service: ServiceName(release), Port: Port(d)}
		}
	}
	return &p
}

// completePlan fills in the functions about plans.
func completePlan(p *Platform) {
	if p.Plan == nil {
		p.Plan = func(*Block, *runplan.Deployment) {}
	}
	if p.Identity == nil {
		p.Identity = func(*runplan.Deployment) {}
	}
	if p.SetupKey == nil {
		p.SetupKey = func(*runplan.Deployment) string { return "" }
	}
	if p.Requests == nil {
		p.Requests = requestsOfPods
	}
	if p.Label == nil {
		p.Label = func(d *runplan.Deployment, _ string) string { return d.Platform + "-" + d.Mode }
	}
	if p.Patterns == nil {
		p.Patterns = func(_ *Block, release string) Patterns {
			return Patterns{Server: ".*" + release + ".*", Scheduler: MatchesNothing, SchedulerPort: MatchesNothing}
		}
	}
}

// replicas is a pod for each replica.
func replicas(d *runplan.Deployment) int { return max(1, d.Replicas) }

// requestsOfPods are the devices of a pod, for each replica.
func requestsOfPods(d *runplan.Deployment) (map[string]int, error) {
	devices, err := runplan.Devices(d)
	for name := range devices {
		devices[name] *= replicas(d)
	}
	return devices, err
}

// clearVersion is the identity of platforms whose version only repeats the image or the ref.
func clearVersion(d *runplan.Deployment) { d.PlatformVersion = "" }

// Undeployable says why a run that deploys what is lacking cannot start, and what to do. profile names the
// DeploymentProfile that asks for it, where one does.
func (p *Platform) Undeployable(profile, lacking string) string {
	asked, instead := "the plan", ""
	if profile != "" {
		asked = fmt.Sprintf("deployment_profile %q", profile)
	}
	if p.Deploys != "" {
		instead = p.Deploys + ", "
	}
	return fmt.Sprintf("%s is for %s, which bflow cannot deploy yet; use %sa profile for platform %s, "+
		"or name a running server in target.base_url", asked, lacking, instead, nameKubernetes)
}
