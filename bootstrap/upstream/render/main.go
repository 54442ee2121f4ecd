// Command render writes the manifests of Tekton and Kueue from their modules in the module cache. Versions come from
// go.mod only. It changes what the releases of upstream change, and the configuration of Kueue.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"bflow.dev/bflow/bootstrap/upstream"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: render DIR")
		os.Exit(2)
	}
	if err := render(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "render: %v\n", err)
		os.Exit(1)
	}
}

// source is one module and how its objects are rendered.
type source struct {
	module, want, file, inputs string
	objects                    func(dir, version string) ([]*unstructured.Unstructured, error)
}

func render(dir string) error {
	sources := []source{
		{module: "github.com/tektoncd/pipeline", want: upstream.TektonVersion, file: "tekton.yaml",
			inputs: "config/**/*.yaml", objects: tekton},
		{module: "sigs.k8s.io/kueue", want: upstream.KueueVersion, file: "kueue.yaml", inputs: "config/default by kustomize",
			objects: kueue},
	}
	for _, s := range sources {
		if err := s.write(dir); err != nil {
			return fmt.Errorf("rendering %s: %w", s.file, err)
		}
	}
	return nil
}

func (s source) write(dir string) error {
	version, path, err := locate(s.module)
	if err != nil {
		return err
	}
	if version != s.want {
		return fmt.Errorf("go.mod has %s %s, package upstream says %s: change its constant", s.module, version, s.want)
	}
	objects, err := s.objects(path, version)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Generated from %s %s (%s) by go generate ./bootstrap/upstream: do not edit.\n", s.module, version,
		s.inputs)
	fmt.Fprintf(&out, "# Licensed under the Apache License, Version 2.0, by the authors of that module. %d objects.\n",
		len(objects))
	for _, o := range objects {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			return err
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	return os.WriteFile(filepath.Join(dir, s.file), out.Bytes(), 0o644)
}

// locate returns the version of a module in go.mod and its folder in the module cache, and downloads it if it is not
// there.
func locate(module string) (version, dir string, err error) {
	if out, err := exec.Command("go", "mod", "download", module).CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("downloading %s: %w: %s", module, err, out)
	}
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}\n{{.Dir}}", module).Output()
	if err != nil {
		return "", "", fmt.Errorf("locating %s: %w", module, err)
	}
	version, dir, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
	return version, dir, nil
}
