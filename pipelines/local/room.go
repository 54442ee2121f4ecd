package local

import (
	"fmt"
	"os"
	"path/filepath"
)

// room is the private folder of one try of a TaskRun.
type room string

func (r room) work() string                { return filepath.Join(string(r), "work") }
func (r room) results() string             { return filepath.Join(string(r), "results") }
func (r room) result(name string) string   { return filepath.Join(r.results(), name) }
func (r room) step(name string) string     { return filepath.Join(string(r), "steps", name) }
func (r room) exitCode(step string) string { return filepath.Join(r.step(step), "exitCode") }
func (r room) stepResults(s string) string { return filepath.Join(r.step(s), "results") }
func (r room) home() string                { return filepath.Join(string(r), "home") }

// room makes an empty private folder for the TaskRun name. Where the run directory cannot hold it (a full disk), it is
// made among the temporary files, so that finally tasks still run.
func (e *executor) room(name string) (room, error) {
	r := room(filepath.Join(e.o.RunDir, dirScratch, name))
	err := os.RemoveAll(string(r))
	if err == nil {
		err = r.furnish()
	}
	if err == nil {
		return r, nil
	}
	dir, tmpErr := os.MkdirTemp("", "bflow-taskrun-*")
	if tmpErr != nil {
		return "", fmt.Errorf("making folder of TaskRun %q: %w", name, err)
	}
	e.addTemporary(dir)
	return room(dir), room(dir).furnish()
}

func (r room) furnish() error {
	for _, dir := range []string{r.work(), r.results(), r.home()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// mounts are the folders of a TaskRun: paths of a container to folders here.
type mounts struct {
	paths   relocation
	volumes map[string]string // by name of the volume
}

// mount makes the folders of t's workspaces and volumes, and the values that name them.
func (t *taskRun) mount(r room, scope values) (mounts, error) {
	m := mounts{
		paths:   relocation{"/workspace": r.work(), "/tekton/results": r.results(), "/tekton/home": r.home()},
		volumes: map[string]string{},
	}
	folders := t.e.folders()
	bindings := t.e.program.bindings(t.pt)
	for _, w := range t.body.spec.Workspaces {
		if _, ok := bindings[w.Name]; !ok {
			nameWorkspace(scope, w.Name, mount{}, false)
		}
	}
	for name, b := range bindings {
		made, err := folders.workspace(b, string(r))
		if err != nil {
			return mounts{}, err
		}
		nameWorkspace(scope, name, made, true)
		m.paths[t.mountPath(name)] = made.dir
	}
	for _, v := range t.body.spec.Volumes {
		dir, err := folders.taskVolume(v, string(r))
		if err != nil {
			return mounts{}, err
		}
		m.volumes[v.Name] = dir
	}
	return m, nil
}

func nameWorkspace(scope values, name string, m mount, bound bool) {
	scope.strings["workspaces."+name+".path"] = m.dir
	scope.strings["workspaces."+name+".claim"] = m.claim
	scope.strings["workspaces."+name+".volume"] = ""
	scope.strings["workspaces."+name+".bound"] = fmt.Sprint(bound)
}

// mountPath is where a workspace lies in a container.
func (t *taskRun) mountPath(name string) string {
	for _, w := range t.body.spec.Workspaces {
		if w.Name == name && w.MountPath != "" {
			return w.MountPath
		}
	}
	return "/workspace/" + name
}
