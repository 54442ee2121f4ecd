package main

import (
	"crypto/md5"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/bootstrap/upstream"
)

// tekton does what a release of upstream does with config/: it replaces ko:// references by the published images, and
// "devel" by the version.
func tekton(dir, version string) ([]*unstructured.Unstructured, error) {
	files, err := yamlFiles(filepath.Join(dir, "config"))
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		objects, err := upstream.Parse(filepath.Base(file), []byte(renderRelease(string(text), version)))
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	return all, restrict(all)
}

// restrict makes Tekton set the security context that Pod Security level restricted demands on its own containers:
// without it no pod of a task is admitted in a namespace of runs.
func restrict(all []*unstructured.Unstructured) error {
	for _, o := range all {
		if o.GetKind() != "ConfigMap" || o.GetName() != "feature-flags" {
			continue
		}
		for _, flag := range []string{"set-security-context", "set-security-context-read-only-root-filesystem"} {
			if err := unstructured.SetNestedField(o.Object, "true", "data", flag); err != nil {
				return fmt.Errorf("setting %s of Tekton: %w", flag, err)
			}
		}
		return nil
	}
	return errors.New("setting the flags of Tekton: its manifests hold no ConfigMap feature-flags")
}

func yamlFiles(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".yaml") {
			files = append(files, path)
		}
		return err
	})
	slices.Sort(files)
	return files, err
}

// renderRelease returns the text of a manifest as it is in the release of this version.
func renderRelease(text, version string) string {
	devel := regexp.MustCompile(`\b(release|version): "?devel"?(\s)`)
	image := regexp.MustCompile(`ko://github\.com/tektoncd/pipeline/cmd/[a-z]+`)
	text = devel.ReplaceAllString(text, `$1: "`+version+`"$2`)
	return image.ReplaceAllStringFunc(text, func(ref string) string {
		return publishedImage(strings.TrimPrefix(ref, "ko://"), version)
	})
}

// publishedImage returns the name under which the image of a command is released: its last path element and the MD5 of
// its import path, as ko names images by default.
func publishedImage(importPath, version string) string {
	name := importPath[strings.LastIndex(importPath, "/")+1:]
	return fmt.Sprintf("ghcr.io/tektoncd/pipeline/%s-%x:%s", name, md5.Sum([]byte(importPath)), version)
}
