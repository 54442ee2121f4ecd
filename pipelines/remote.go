package pipelines

import (
	"fmt"
	"slices"

	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// awayRetries are for launchers whose pods are moved: to Tekton they have failed. The next one goes on with the Job,
// and what has failed indeed it does not try again.
const awayRetries = 2

// RemoteTask returns the name of the Task that carries task out on a remote target: smoketest, load-gen or collect.
func RemoteTask(task string) string { return task + "-away" }

// withLauncher returns p with a launcher for its one step: what the step does happens in a Job on the target, near the
// server under test, with the same image, arguments and size. To the Pipeline it is the same task.
func withLauncher(p part) part {
	own := p.steps[0]
	p.name, p.as, p.display = RemoteTask(p.name), p.name, p.display+", on a remote target"
	p.about += " It runs on the target, as a Job."
	p.results = append(slices.Clone(p.results), contract.ResultReason, contract.ResultLost)
	size := sizeOf(own.binary)
	cpu := size.cpu
	if own.binary == contract.LoadGen {
		p.params = append(slices.Clone(p.params), contract.ParamLoadCPU)
		cpu = paramRef(contract.ParamLoadCPU)
	}
	args := []string{
		"--reason-result=" + resultPath(contract.ResultReason), "--lost-result=" + resultPath(contract.ResultLost),
	}
	var env []corev1.EnvVar
	if slices.Contains(p.params, contract.ParamAPIKeySecret) {
		env = apiKey()
		args = append(args, "--api-key-secret="+paramRef(contract.ParamAPIKeySecret),
			"--api-key-key="+paramRef(contract.ParamAPIKeyKey))
	}
	args = append(args,
		"--cpu="+cpu, "--memory="+size.memory, "--max-cpu="+size.maxCPU, "--max-memory="+size.maxMemory,
		"--")
	p.steps = []stepPart{{
		name: own.name, binary: contract.Provision, sub: "exec", target: true, away: own.binary, env: env,
		args: append(args, own.args...),
	}}
	return p
}

// withImages names the images of what a step runs elsewhere.
func (p stepPart) withImages(task string, r Release) (stepPart, error) {
	if p.away == "" {
		return p, nil
	}
	args := []string{"--task=" + p.away}
	for _, image := range [][2]string{{"--image=", p.away}, {"--files-image=", contract.Collect}} {
		ref := r.Images[image[1]]
		if ref == "" {
			return p, fmt.Errorf("building task %q: no image for binary %q", task, image[1])
		}
		args = append(args, image[0]+ref)
	}
	p.args = append(args, p.args...)
	return p, nil
}

// loadCPU is what a load generator asks for where nobody says.
func loadCPU() string {
	q := resource.MustParse(sizeOf(contract.LoadGen).cpu)
	return q.String()
}
