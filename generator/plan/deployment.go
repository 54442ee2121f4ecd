package plan

import (
	"encoding/json"
	"time"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/platform/engine"
	"bflow.dev/bflow/runplan"
)

// deploymentOf writes a resolved profile as the plan has it. Images are still as the file names them.
func (p *point) deploymentOf(name, model string, d *spec.DeploymentSpec) (runplan.Deployment, error) {
	where := p.platforms.Named(d.Platform)
	server := engineOf(d, where)
	out := runplan.Deployment{
		Profile: name, Platform: d.Platform, Mode: d.Mode, Model: runplan.Model{Name: model}, Engine: server,
		EndpointPath: d.EndpointPath, EndpointScope: d.EndpointScope,
		Replicas: d.Runtime.Replicas, TensorParallel: d.Runtime.TensorParallelism,
		Args: d.Runtime.VLLMArgs, Env: d.Runtime.Env,
		SchedulerImage: d.SchedulerImage, SchedulerProfile: d.SchedulerProfile,
		PlatformVersion: where.Version(&d.Block, server.Image),
	}
	where.Plan(&d.Block, &out)
	if engine.Of(server.Kind).ServesFiles {
		out.ModelStorage = &runplan.ModelStorage{
			PVCName: d.ModelStorage.PVCName, CacheDir: d.ModelStorage.CacheDir,
			MountPath: d.ModelStorage.MountPath, ModelSubpath: d.ModelStorage.ModelSubpath,
		}
	}
	var err error
	if out.Runtime, err = podSettings(d.Runtime); err != nil {
		return out, err
	}
	out.Options, err = optionsOf(d.Options, d.Own)
	return out, err
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// podSettings keeps what the plan has no field for, in the words of the format; nil when there is none.
func podSettings(r platform.Runtime) (json.RawMessage, error) {
	r.Image, r.Replicas, r.TensorParallelism = "", 0, 0
	r.VLLMArgs, r.Env = nil, nil
	return object(r)
}

// optionsOf keeps the options of the platform, and what it has of its own, in the words of the format; nil when there
// are none.
func optionsOf(o platform.Options, own platform.Own) (json.RawMessage, error) {
	probe := o.StartupProbe
	o.StartupProbe = nil
	raw, err := object(o)
	if err != nil || probe == nil && len(own) == 0 {
		return raw, err
	}
	fields := map[string]any{}
	if raw != nil {
		if err := json.Unmarshal(raw, &fields); err != nil {
			return nil, err
		}
	}
	for name, block := range own {
		fields[name] = block
	}
	switch {
	case probe == nil:
	case probe.Off:
		fields["startup_probe"] = false
	default:
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

func duration(d *time.Duration) runplan.Duration { return runplan.Duration(deref(d)) }

func deref[T any](p *T) T {
	var none T
	if p == nil {
		return none
	}
	return *p
}
