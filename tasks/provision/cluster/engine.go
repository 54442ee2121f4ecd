package cluster

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
)

// program is what runs in the container of an engine.
type program struct {
	image         string
	command, args []string
	env           map[string]string // weaker than that of the plan
}

// programOf returns the server program of plan; simImage is that of the simulated engine where the plan names none.
func programOf(plan *runplan.RunPlan, simImage string) (program, error) {
	d := &plan.Deployment
	p := program{image: d.Engine.Image, command: d.Engine.Command, env: map[string]string{}}
	var err error
	switch d.Engine.Kind {
	case "sim":
		p.image = cmp.Or(p.image, plan.Images[contract.SimEngine], simImage)
		p.command = []string{"/" + contract.SimEngine}
		p.args, err = simArgs(d)
	case "vllm":
		if len(p.command) == 0 {
			p.command = []string{"python3", "-m", "vllm.entrypoints.openai.api_server"}
		}
		p.args, p.env = slices.Concat(vllmArgs(d), d.Args, d.Engine.Args), vllmEnv(d)
	default: // its file says how it is started
		p.command, p.args = replaced(d, d.Engine.Command), replaced(d, slices.Concat(d.Args, d.Engine.Args))
		p.env = map[string]string{"HOME": "/tmp", "USER": "bflow", "HF_HOME": "/tmp/huggingface"}
	}
	if err == nil && p.image == "" {
		err = fmt.Errorf("deploying engine %q of %q: there is no image; set engine.image", d.Engine.Kind, plan.Name)
	}
	return p, err
}

func simArgs(d *runplan.Deployment) ([]string, error) {
	cfg := runplan.Sim{}
	if d.Engine.Sim != nil {
		cfg = *d.Engine.Sim
	}
	text, err := json.Marshal(cfg)
	if err != nil {
		return nil, fmt.Errorf("encoding the configuration of the simulated engine: %w", err)
	}
	args := []string{"--host=0.0.0.0", "--port=" + strconv.Itoa(platform.Port(d)), "--model=" + d.Model.Name,
		"--config-json=" + string(text)}
	return append(args, d.Engine.Args...), nil
}

// vllmArgs are those that the platform owns, in the order of the format.
func vllmArgs(d *runplan.Deployment) []string {
	args := []string{
		"--model=" + modelPath(d), "--served-model-name=" + d.Model.Name,
		"--tensor-parallel-size=" + strconv.Itoa(max(1, d.TensorParallel)),
		"--port=" + strconv.Itoa(platform.Port(d)), "--host=0.0.0.0",
	}
	if d.ModelStorage == nil && d.Model.Revision != "" {
		args = append(args, "--revision="+d.Model.Revision)
	}
	return args
}

// vllmEnv keeps every cache of vLLM and its libraries on a volume that can be written. USER is there because vLLM looks
// the name of its user up, and a random one has none.
func vllmEnv(d *runplan.Deployment) map[string]string {
	env := map[string]string{
		"HOME": "/tmp/vllm-home", "USER": "bflow", "XDG_CACHE_HOME": "/tmp/cache", "VLLM_CACHE_ROOT": "/tmp/vllm",
		"TRITON_CACHE_DIR": "/tmp/triton", "TORCHINDUCTOR_CACHE_DIR": "/tmp/inductor", "HF_MODULES_CACHE": "/tmp/hf-modules",
		"HF_HOME": "/tmp/huggingface",
	}
	if s := d.ModelStorage; s != nil {
		home := path.Join(s.MountPath, s.CacheDir)
		env["HF_HOME"], env["HF_HUB_CACHE"], env["TRANSFORMERS_CACHE"] = home, home+"/hub", home+"/hub"
	}
	return env
}

// modelPath is where the model files lie in the container, or the name of the model where they lie nowhere.
func modelPath(d *runplan.Deployment) string {
	s := d.ModelStorage
	if s == nil {
		return d.Model.Name
	}
	folder := s.ModelSubpath
	if folder == "" {
		folder = strings.ReplaceAll(d.Model.Name, "/", "-")
	}
	return path.Join(s.MountPath, s.CacheDir, folder)
}

// replaced puts in what a command line of a file may leave open.
func replaced(d *runplan.Deployment, args []string) []string {
	replace := strings.NewReplacer("$(port)", strconv.Itoa(platform.Port(d)), "$(model)", d.Model.Name, "$(model_path)",
		modelPath(d))
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = replace.Replace(arg)
	}
	return out
}

// environment is that of the program with the plan's on top, sorted by name, behind the variables that others refer to.
func (d *renderer) environment() []corev1.EnvVar {
	set := maps.Clone(d.program.env)
	maps.Copy(set, d.plan.Deployment.Env)
	vars := []corev1.EnvVar{
		{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
		{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}},
	}
	vars = slices.DeleteFunc(vars, func(v corev1.EnvVar) bool { _, ok := set[v.Name]; return ok })
	vars = append(vars, d.secretVars()...)
	for _, name := range slices.Sorted(maps.Keys(set)) {
		vars = append(vars, corev1.EnvVar{Name: name, Value: d.text(set[name])})
	}
	return vars
}
