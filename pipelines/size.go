package pipelines

import (
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// size is what a step asks for and may use at most: cores and memory as Kubernetes quantities.
type size struct {
	cpu, memory       string
	maxCPU, maxMemory string
}

// sizeOf returns the size of a step of binary. load-gen asks for a whole core, because a client that waits for a core
// measures itself; collect reads rows of the whole run.
func sizeOf(binary string) size {
	switch binary {
	case contract.LoadGen:
		return size{"1", "512Mi", "8", "4Gi"}
	case contract.Collect:
		return size{"250m", "512Mi", "4", "4Gi"}
	case contract.Smoketest:
		return size{"50m", "64Mi", "1", "256Mi"}
	default: // wait for others
		return size{"50m", "64Mi", "1", "512Mi"}
	}
}

// LoadSize is the size of a load-gen step that asks for other than the usual number of cores.
func LoadSize(cpu resource.Quantity) corev1.ResourceRequirements {
	r := sizeOf(contract.LoadGen).requirements()
	r.Requests[corev1.ResourceCPU] = cpu
	if most := r.Limits[corev1.ResourceCPU]; most.Cmp(cpu) < 0 {
		r.Limits[corev1.ResourceCPU] = cpu
	}
	return r
}

func (s size) requirements() corev1.ResourceRequirements {
	list := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		}
	}
	return corev1.ResourceRequirements{Requests: list(s.cpu, s.memory), Limits: list(s.maxCPU, s.maxMemory)}
}
