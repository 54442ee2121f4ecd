package local

import (
	"fmt"
	"slices"
	"strings"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
)

// check lists what of p cannot run as processes with o.
func (p *program) check(o Options) []Refusal {
	c := &checker{p: p, o: o}
	if t := p.run.Spec.TaskRunTemplate.PodTemplate; t != nil && (len(t.Env) > 0 || len(t.Volumes) > 0) {
		c.refuse(p.where(), "its pod template sets variables or volumes")
	}
	for _, w := range p.spec.Workspaces {
		if !w.Optional &&
			!slices.ContainsFunc(p.run.Spec.Workspaces, func(b v1.WorkspaceBinding) bool { return b.Name == w.Name }) {
			c.refuse(p.where(), "workspace %q is required and not bound", w.Name)
		}
	}
	for _, b := range p.run.Spec.Workspaces {
		c.checkBinding(p.scope.binding(b))
	}
	for _, pt := range p.all() {
		c.checkTask(pt)
	}
	return c.found
}

// checker collects refusals.
type checker struct {
	p     *program
	o     Options
	found []Refusal
}

func (c *checker) refuse(where, why string, args ...any) {
	r := Refusal{where, fmt.Sprintf(why, args...)}
	if !slices.Contains(c.found, r) {
		c.found = append(c.found, r)
	}
}

func (c *checker) checkBinding(b v1.WorkspaceBinding) {
	where := fmt.Sprintf("workspace %q", b.Name)
	switch {
	case b.CSI != nil:
		c.refuse(where, "a CSI volume is not a folder")
	case b.Projected != nil:
		c.checkProjected(where, b.Projected)
	case b.ConfigMap != nil:
		c.checkConfigMap(where, b.ConfigMap)
	case b.Secret != nil:
		c.checkSecret(where, b.Secret)
	}
}

func (c *checker) checkConfigMap(where string, source *corev1.ConfigMapVolumeSource) {
	if c.p.configs[source.Name] == nil && !isTrue(source.Optional) {
		c.refuse(where, "ConfigMap %q is not among the documents", source.Name)
	}
}

func (c *checker) checkSecret(where string, source *corev1.SecretVolumeSource) {
	known := secrets{c.o.Env, c.o.SecretEnv}.all(source.SecretName)
	if len(known) == 0 && !isTrue(source.Optional) {
		c.refuse(where, "Secret %q has no value on this host; map its keys to variables", source.SecretName)
	}
}

func (c *checker) checkProjected(where string, source *corev1.ProjectedVolumeSource) {
	for _, s := range source.Sources {
		if s.Secret == nil {
			c.refuse(where, "only Secrets are projected here")
			continue
		}
		known := secrets{c.o.Env, c.o.SecretEnv}.all(s.Secret.Name)
		for _, item := range s.Secret.Items {
			if _, ok := known[item.Key]; !ok && !isTrue(s.Secret.Optional) {
				c.refuse(where, "key %q of Secret %q has no value on this host; map it to a variable", item.Key, s.Secret.Name)
			}
		}
	}
}

func (c *checker) checkTask(pt *v1.PipelineTask) {
	where, b := taskWhere(pt.Name), c.p.bodies[pt.Name]
	for _, w := range pt.When {
		if w.CEL != "" {
			c.refuse(where, "a when expression in CEL is not evaluated here")
		}
	}
	if len(b.spec.Sidecars) > 0 {
		c.refuse(where, "sidecars do not run as processes")
	}
	c.checkParams(where, pt, b)
	c.checkWorkspaces(where, pt, b)
	for _, v := range b.spec.Volumes {
		c.checkVolume(where, v)
	}
	run := taskRun{pt: pt, body: b}
	steps, err := run.steps()
	if err != nil {
		c.refuse(where, "%v", err)
	}
	for i := range steps {
		c.checkStep(fmt.Sprintf("%s, step %q", where, steps[i].Name), &steps[i])
	}
}

// checkParams checks that the required params of a Task are given.
func (c *checker) checkParams(where string, pt *v1.PipelineTask, b body) {
	given := pt.Params.ExtractNames()
	if pt.IsMatrixed() {
		given = given.Union(pt.Matrix.GetAllParams().ExtractNames())
	}
	if b.task == "" {
		given = given.Union(c.p.params.ExtractNames())
	}
	for _, spec := range b.spec.Params {
		if spec.Default == nil && !given.Has(spec.Name) {
			c.refuse(where, "param %q is required and has no value", spec.Name)
		}
	}
}

func (c *checker) checkWorkspaces(where string, pt *v1.PipelineTask, b body) {
	bound := c.p.bindings(pt)
	for _, w := range b.spec.Workspaces {
		if _, ok := bound[w.Name]; !ok && !w.Optional {
			c.refuse(where, "workspace %q is required and not bound", w.Name)
		}
	}
}

// checkVolume refuses what is neither a folder nor files.
func (c *checker) checkVolume(where string, v corev1.Volume) {
	where = fmt.Sprintf("%s, volume %q", where, v.Name)
	switch {
	case v.ConfigMap != nil:
		c.checkConfigMap(where, v.ConfigMap)
	case v.Secret != nil:
		c.checkSecret(where, v.Secret)
	case v.EmptyDir == nil && v.PersistentVolumeClaim == nil:
		c.refuse(where, "its kind is not a folder")
	}
}

func (c *checker) checkStep(where string, s *v1.Step) {
	_, mapped := c.o.HostImages[s.Image]
	for _, row := range []struct {
		is  bool
		why string
	}{
		{s.Script != "" && !mapped, "a script needs a shell of its image"},
		{s.Ref != nil, "a StepAction is not resolved here"},
		{len(s.When) > 0, "a when expression of a step is not evaluated here"},
		{s.StdoutConfig != nil || s.StderrConfig != nil, "stdoutConfig and stderrConfig are not written here"},
		{len(s.VolumeDevices) > 0, "block devices are not folders"},
		{usesArtifacts(s), "artifacts are not gathered here"},
	} {
		if row.is {
			c.refuse(where, "%s", row.why)
		}
	}
	if s.Script == "" && s.Ref == nil {
		if _, ok := ours(s); !ok && !mapped {
			c.refuse(where, "%s", notOurs(s))
		} else if !ok && len(s.Command) == 0 {
			c.refuse(where, "it has no command, and only its image knows one")
		}
	}
	for _, v := range s.Env {
		c.checkVariable(where, v)
	}
}

func notOurs(s *v1.Step) string {
	if len(s.Command) == 0 {
		return fmt.Sprintf("image %q is not ours, and the step has no command", s.Image)
	}
	return fmt.Sprintf("image %q with command %q is not ours", s.Image, s.Command[0])
}

// checkVariable refuses a value that cannot be found. One whose Secret or ConfigMap has a variable for a name is left
// for the run to find.
func (c *checker) checkVariable(where string, v corev1.EnvVar) {
	if v.ValueFrom == nil || podOnly(v) {
		return
	}
	if v.ValueFrom.SecretKeyRef == nil && v.ValueFrom.ConfigMapKeyRef == nil {
		c.refuse(where, "variable %q takes its value from a pod", v.Name)
		return
	}
	if named(v.ValueFrom) {
		return
	}
	e := newEnviron(c.o, c.p.configs)
	if _, _, err := e.variable(v); err != nil {
		c.refuse(where, "variable %q: %v", v.Name, err)
	}
}

// named reports whether a variable of the Task says which Secret or ConfigMap a value is from.
func named(v *corev1.EnvVarSource) bool {
	if v.SecretKeyRef != nil {
		return strings.Contains(v.SecretKeyRef.Name+v.SecretKeyRef.Key, "$(")
	}
	return strings.Contains(v.ConfigMapKeyRef.Name+v.ConfigMapKeyRef.Key, "$(")
}

func usesArtifacts(s *v1.Step) bool {
	for _, text := range slices.Concat(s.Command, s.Args, []string{s.Script}) {
		if strings.Contains(text, "artifacts.path)") || strings.Contains(text, ".outputs") && strings.Contains(text, "$(") {
			return true
		}
	}
	return false
}
