package local

import (
	"fmt"
	"os"
	"path/filepath"

	"bflow.dev/bflow/runplan/contract"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
)

// folders makes the folders that stand for volumes.
type folders struct {
	runDir  string
	configs map[string]*corev1.ConfigMap
	secrets secrets
}

// mount is a folder with what the Pipeline calls it.
type mount struct {
	dir   string
	claim string // name of the PersistentVolumeClaim, where there is one
}

// bindings returns the workspaces of a task by the names the task uses. An inline task also sees every workspace of
// the PipelineRun that it does not name itself.
func (p *program) bindings(pt *v1.PipelineTask) map[string]v1.WorkspaceBinding {
	bound := map[string]v1.WorkspaceBinding{}
	for _, b := range p.run.Spec.Workspaces {
		bound[b.Name] = p.scope.binding(b)
	}
	out := map[string]v1.WorkspaceBinding{}
	if p.bodies[pt.Name].task == "" {
		for name, b := range bound {
			out[name] = b
		}
	}
	for _, w := range pt.Workspaces {
		source := w.Workspace
		if source == "" {
			source = w.Name
		}
		if b, ok := bound[source]; ok {
			b.SubPath = filepath.Join(b.SubPath, w.SubPath)
			out[w.Name] = b
		}
	}
	return out
}

// workspace makes the folder of binding b for one TaskRun, whose private folder is scratch.
func (f folders) workspace(b v1.WorkspaceBinding, scratch string) (mount, error) {
	m, err := f.source(b, scratch)
	if err != nil {
		return mount{}, fmt.Errorf("workspace %q: %w", b.Name, err)
	}
	dir, ok := below(m.dir, b.SubPath)
	if !ok {
		return mount{}, fmt.Errorf("workspace %q: subPath %q leads out of it", b.Name, b.SubPath)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return mount{}, fmt.Errorf("making workspace %q: %w", b.Name, err)
	}
	m.dir = dir
	return m, nil
}

func (f folders) source(b v1.WorkspaceBinding, scratch string) (mount, error) {
	switch {
	case b.ConfigMap != nil:
		dir, err := f.configMap(b.ConfigMap.Name, b.ConfigMap.Items)
		return mount{dir: dir}, err
	case b.Secret != nil:
		dir, err := f.secret(b.Secret.SecretName, b.Secret.Items)
		return mount{dir: dir}, err
	case b.Projected != nil:
		dir, err := f.projected(b.Name, b.Projected)
		return mount{dir: dir}, err
	case b.Name == contract.WorkspaceRun:
		return mount{dir: f.runDir, claim: claimName(b)}, nil
	case b.PersistentVolumeClaim != nil:
		return mount{dir: f.volume("claim-" + b.PersistentVolumeClaim.ClaimName), claim: claimName(b)}, nil
	case b.VolumeClaimTemplate != nil:
		return mount{dir: f.volume("workspace-" + b.Name), claim: claimName(b)}, nil
	default: // emptyDir: each TaskRun has its own
		return mount{dir: filepath.Join(scratch, "volumes", "workspace-"+b.Name)}, nil
	}
}

func claimName(b v1.WorkspaceBinding) string {
	if b.PersistentVolumeClaim != nil {
		return b.PersistentVolumeClaim.ClaimName
	}
	return b.Name
}

func (f folders) volume(name string) string { return filepath.Join(f.runDir, dirVolumes, name) }

// taskVolume makes the folder of a volume of a Task.
func (f folders) taskVolume(v corev1.Volume, scratch string) (string, error) {
	dir := filepath.Join(scratch, "volumes", v.Name)
	var err error
	switch {
	case v.ConfigMap != nil:
		return f.configMap(v.ConfigMap.Name, v.ConfigMap.Items)
	case v.Secret != nil:
		return f.secret(v.Secret.SecretName, v.Secret.Items)
	case v.PersistentVolumeClaim != nil:
		dir = f.volume("claim-" + v.PersistentVolumeClaim.ClaimName)
	}
	if err = os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making volume %q: %w", v.Name, err)
	}
	return dir, nil
}
