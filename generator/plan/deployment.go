package plan

import (
	"encoding/json"
	"strings"
	"time"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/runplan"
)

// deploymentOf writes a resolved profile as the plan has it. Images are still as the file names them.
func deploymentOf(name, model string, d *spec.DeploymentSpec) (runplan.Deployment, error) {
	engine := engineOf(d)
	out := runplan.Deployment{
		Profile: name, Platform: d.Platform, Mode: d.Mode, Model: runplan.Model{Name: model}, Engine: engine,
		EndpointPath: d.EndpointPath, EndpointScope: d.EndpointScope,
		Replicas: d.Runtime.Replicas, TensorParallel: d.Runtime.TensorParallelism,
		Args: d.Runtime.VLLMArgs, Env: d.Runtime.Env,
		SchedulerImage: d.SchedulerImage, SchedulerProfile: d.SchedulerProfile,
		PlatformVersion: platformVersion(d, engine.Image),
	}
	switch d.Platform {
	case llmd:
		out.RepoURL, out.RepoRef, out.Gateway = d.RepoURL, d.RepoRef, d.Gateway
	case rhoai:
		out.PlatformChannel = d.PlatformChannel
	}
	if servesFiles(engine.Kind) {
		out.ModelStorage = &runplan.ModelStorage{
			PVCName: d.ModelStorage.PVCName, CacheDir: d.ModelStorage.CacheDir,
			MountPath: d.ModelStorage.MountPath, ModelSubpath: d.ModelStorage.ModelSubpath,
		}
	}
	var err error
	if out.Runtime, err = podSettings(d.Runtime); err != nil {
		return out, err
	}
	out.Options, err = optionsOf(d.Options)
	return out, err
}

// servesFiles reports whether an engine loads model files.
func servesFiles(kind string) bool { return kind != kindSim && kind != kindCommand }

// withPlatformDefaults fills in what the platform implies.
func withPlatformDefaults(d *spec.DeploymentSpec) {
	d.Platform, d.Mode = canonicalMode(d)
	switch d.Platform {
	case llmd:
		d.RepoURL, d.RepoRef = orElse(d.RepoURL, llmdRepo), orElse(d.RepoRef, llmdRef)
		d.Options.StorageOffloading = offloading(d.Options.StorageOffloading)
	case rhoai:
		d.PlatformChannel = orElse(d.PlatformChannel, rhoaiChannel)
	}
}

// offloading fills in what the type of the storage implies. The folder on a node depends on the release, which only a
// run has, so that one stays open.
func offloading(s *spec.StorageOffloading) *spec.StorageOffloading {
	if s == nil || !s.Enabled {
		return s
	}
	o := *s
	o.DirectoryPath = orElse(o.DirectoryPath, strings.TrimRight(o.MountPath, "/")+"/kv-cache")
	if o.Type == "hostPath" {
		o.HostPathType = orElse(o.HostPathType, "DirectoryOrCreate")
		return &o
	}
	o.PVCName, o.StorageClass = orElse(o.PVCName, "llm-d-storage-offloading-cache"), orElse(o.StorageClass, "nfs-rwx")
	o.Size, o.AccessMode = orElse(o.Size, "2500Gi"), orElse(o.AccessMode, "ReadWriteMany")
	return &o
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// podSettings keeps what the plan has no field for, in the words of the format; nil when there is none.
func podSettings(r spec.Runtime) (json.RawMessage, error) {
	r.Image, r.Replicas, r.TensorParallelism, r.VLLMArgs, r.Env = "", 0, 0, nil, nil
	return object(r)
}

// optionsOf keeps the options of the platform in the words of the format; nil when there are none.
func optionsOf(o spec.PlatformOptions) (json.RawMessage, error) {
	probe := o.StartupProbe
	o.StartupProbe = nil
	raw, err := object(o)
	if err != nil || probe == nil {
		return raw, err
	}
	fields := map[string]any{}
	if raw != nil {
		if err := json.Unmarshal(raw, &fields); err != nil {
			return nil, err
		}
	}
	fields["startup_probe"] = false
	if !probe.Off {
		var patch map[string]any
		if err := probe.Patch.Node.Decode(&patch); err != nil {
			return nil, err
		}
		fields["startup_probe"] = patch
	}
	return json.Marshal(fields)
}

// object is v as JSON, nil for an empty one.
func object(v any) (json.RawMessage, error) {
	b, err := json.Marshal(v)
	if err != nil || string(b) == "{}" {
		return nil, err
	}
	return b, nil
}

// existingEndpoint turns d into an endpoint that is there already: nothing is deployed, no scope is chosen.
func existingEndpoint(d *runplan.Deployment, t spec.Target) {
	d.Endpoint = &runplan.Endpoint{BaseURL: strings.TrimRight(t.BaseURL, "/"), MetricsRelease: t.MetricsRelease}
	d.EndpointPath, d.EndpointScope = orElse(t.Path, "/v1/models"), "external"
	d.ModelStorage = nil
}

func duration(d *time.Duration) runplan.Duration { return runplan.Duration(deref(d)) }

func deref[T any](p *T) T {
	var none T
	if p == nil {
		return none
	}
	return *p
}
