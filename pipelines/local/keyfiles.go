package local

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// configMap writes a ConfigMap as read-only files, anew: a task before this one may have removed them.
func (f folders) configMap(name string, items []corev1.KeyToPath) (string, error) {
	content := map[string][]byte{}
	if c := f.configs[name]; c != nil {
		for key, text := range c.Data {
			content[key] = []byte(text)
		}
		for key, data := range c.BinaryData {
			content[key] = data
		}
	}
	dir := f.volume("configmap-" + name + suffix(items))
	return dir, writeFiles(dir, content, items, 0o444)
}

// secret writes the known keys of a Secret as files that only this user can read. The folder goes with the executor.
func (f folders) secret(name string, items []corev1.KeyToPath) (string, error) {
	content := map[string][]byte{}
	for key, text := range f.secrets.all(name) {
		content[key] = []byte(text)
	}
	parent := filepath.Join(f.runDir, dirSecrets)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", fmt.Errorf("making folder of Secret %q: %w", name, err)
	}
	dir := filepath.Join(parent, name+suffix(items))
	return dir, writeFiles(dir, content, items, 0o400)
}

// projected writes the keys of several Secrets as files that only this user can read. Those without a value are absent.
// The folder goes with the executor.
func (f folders) projected(name string, source *corev1.ProjectedVolumeSource) (string, error) {
	dir := filepath.Join(f.runDir, dirSecrets, "projected-"+name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making folder of Secrets: %w", err)
	}
	for _, s := range source.Sources {
		if s.Secret == nil {
			continue // refused before the run
		}
		content, items := map[string][]byte{}, []corev1.KeyToPath{}
		known := f.secrets.all(s.Secret.Name)
		for _, item := range s.Secret.Items {
			if value, ok := known[item.Key]; ok {
				content[item.Key] = []byte(value)
				items = append(items, item)
			}
		}
		if len(items) == 0 {
			continue
		}
		if err := writeFiles(dir, content, items, 0o400); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// suffix keeps two choices of keys of one object apart.
func suffix(items []corev1.KeyToPath) string {
	if len(items) == 0 {
		return ""
	}
	var b strings.Builder
	for _, i := range items {
		b.WriteString(i.Key + "\x00" + i.Path + "\x00")
	}
	return "-" + base64.RawURLEncoding.EncodeToString([]byte(uid(b.String())))[:12]
}

// writeFiles writes content below dir: under its keys, or only items under their paths.
func writeFiles(dir string, content map[string][]byte, items []corev1.KeyToPath, mode os.FileMode) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making %q: %w", dir, err)
	}
	if len(items) == 0 {
		for key := range content {
			items = append(items, corev1.KeyToPath{Key: key, Path: key})
		}
		slices.SortFunc(items, func(a, b corev1.KeyToPath) int { return strings.Compare(a.Key, b.Key) })
	}
	for _, item := range items {
		data, ok := content[item.Key]
		path, inside := below(dir, item.Path)
		if !ok || !inside {
			return fmt.Errorf("key %q: it does not exist, or its path %q leads out of the volume", item.Key, item.Path)
		}
		if err := replaceFile(path, data, mode); err != nil {
			return err
		}
	}
	return nil
}

func replaceFile(path string, data []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Chmod(mode)
	}
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	return err
}
