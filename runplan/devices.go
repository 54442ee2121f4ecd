package runplan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// gpu is the device that an engine with model files takes, one per rank of its tensor parallelism.
const gpu = "nvidia.com/gpu"

// Devices returns what one pod of d asks for by name besides cores and memory: resource to number. An engine that
// serves model files takes tensorParallel GPUs, unless runtime.resources removes them or names accelerators of another
// kind, which take their place; every other device is as runtime.resources says. So the simulated engine, which needs
// none, takes exactly those that the file gives it.
func Devices(d *Deployment) (map[string]int, error) {
	var settings struct {
		Resources struct {
			Requests     map[string]string `json:"requests"`
			Limits       map[string]string `json:"limits"`
			RemoveLimits []string          `json:"remove_limits"`
		} `json:"resources"`
	}
	if len(d.Runtime) > 0 {
		if err := json.Unmarshal(d.Runtime, &settings); err != nil {
			return nil, fmt.Errorf("reading the pod settings: %w", err)
		}
	}
	devices := map[string]int{}
	if d.Endpoint != nil {
		return devices, nil
	}
	for _, list := range []map[string]string{settings.Resources.Requests, settings.Resources.Limits} {
		if err := addDevices(devices, list); err != nil {
			return nil, err
		}
	}
	if d.Engine.ServesFiles() {
		devices[gpu] = max(1, d.TensorParallel)
		if slices.ContainsFunc(slices.Collect(maps.Keys(devices)), replacesGPU) {
			delete(devices, gpu)
		}
	}
	for _, name := range settings.Resources.RemoveLimits {
		delete(devices, name)
	}
	return devices, nil
}

// ServesFiles reports whether the engine loads model files, onto GPUs.
func (e *Engine) ServesFiles() bool { return e.Kind != "sim" && e.Kind != "command" }

// replacesGPU reports whether a model runs on a device instead of on a whole GPU of NVIDIA: a slice or a share of one,
// or an accelerator of somebody else. A network card or a switch is none.
func replacesGPU(name string) bool {
	return slices.ContainsFunc([]string{
		"nvidia.com/mig-", "nvidia.com/gpu.", "amd.com/", "habana.ai/", "gpu.intel.com/", "google.com/tpu",
		"aws.amazon.com/neuron",
	}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

func addDevices(devices map[string]int, list map[string]string) error {
	for name, quantity := range list {
		if !IsDevice(name) {
			continue
		}
		n, err := strconv.Atoi(quantity)
		if err != nil || n < 0 {
			return fmt.Errorf("resource %q is %q: a device is asked for by a whole number", name, quantity)
		}
		if devices[name] = n; n == 0 {
			delete(devices, name)
		}
	}
	return nil
}

// IsDevice tells a device, named by the domain of its vendor, from cores, memory and storage.
func IsDevice(resource string) bool {
	domain, _, ok := strings.Cut(resource, "/")
	return ok && domain != "kubernetes.io" && !strings.HasSuffix(domain, ".kubernetes.io")
}
