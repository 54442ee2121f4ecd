package spec

import (
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/platform"
)

// check finds what is wrong with overrides whatever profile they meet.
func (o *Overrides) check() (out problem.Findings) {
	r := &o.Runtime
	out.Under("runtime", platform.CheckMounts(r.HostPaths.Value, nil))
	out.Under("runtime.placement", r.Placement.Value.Check())
	out.Under("runtime.resources", r.Resources.Check())
	out.Under("benchmark.env", tool.CheckEnv(o.Benchmark.Env))
	return out
}

// FieldHints answer for keys that it does not have.
func (RuntimeOverrides) FieldHints() map[string]string {
	hints := platform.Runtime{}.FieldHints()
	for _, field := range []string{"pvc_mounts", "shared_memory_size", "image_pull_secrets", "imagePullSecrets"} {
		hints[field] = "cannot be overridden; set it in the DeploymentProfile"
	}
	return hints
}
