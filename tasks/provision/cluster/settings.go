package cluster

import (
	"encoding/json"
	"fmt"

	"bflow.dev/bflow/runplan"

	corev1 "k8s.io/api/core/v1"
)

// settings are the pod settings of a plan (Deployment.Runtime), in the words of the experiment format.
type settings struct {
	SharedMemorySize   string              `json:"shared_memory_size"`
	HostPaths          []hostPath          `json:"host_paths"`
	PVCMounts          []pvcMount          `json:"pvc_mounts"`
	ServiceAccountName string              `json:"service_account_name"`
	NodeSelector       map[string]string   `json:"node_selector"`
	Affinity           *corev1.Affinity    `json:"affinity"`
	Tolerations        []corev1.Toleration `json:"tolerations"`
	ImagePullSecrets   []struct {
		Name string `json:"name"`
	} `json:"image_pull_secrets"`
	Resources resources `json:"resources"`
}

type hostPath struct {
	Name      string `json:"name"`
	HostPath  string `json:"host_path"`
	MountPath string `json:"mount_path"`
	Type      string `json:"type"`
	ReadOnly  bool   `json:"read_only"`
}

type pvcMount struct {
	Name         string   `json:"name"`
	ClaimName    string   `json:"claim_name"`
	MountPath    string   `json:"mount_path"`
	ReadOnly     bool     `json:"read_only"`
	Create       bool     `json:"create"`
	StorageClass string   `json:"storage_class_name"`
	Size         string   `json:"size"`
	AccessModes  []string `json:"access_modes"`
}

type resources struct {
	Requests       map[string]string `json:"requests"`
	Limits         map[string]string `json:"limits"`
	RemoveRequests []string          `json:"remove_requests"`
	RemoveLimits   []string          `json:"remove_limits"`
}

func settingsOf(plan *runplan.RunPlan) (settings, error) {
	var s settings
	if len(plan.Deployment.Runtime) == 0 {
		return s, nil
	}
	if err := json.Unmarshal(plan.Deployment.Runtime, &s); err != nil {
		return s, fmt.Errorf("reading the pod settings of %q: %w", plan.Name, err)
	}
	return s, nil
}
