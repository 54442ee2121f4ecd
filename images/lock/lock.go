// Package lock reads and writes images.lock.yaml: the images of one version of bflow, by digest.
//
// `bflow images push` writes it for `bflow compile` and `bflow bundle push`. It must not open sockets and knows no
// registry.
package lock

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Name is what a lock file is called where nothing else is said.
const Name = "images.lock.yaml"

// APIVersion and Kind of a lock file.
const (
	APIVersion = "bflow.dev/v1alpha1"
	Kind       = "ImageLock"
)

// File is the content of a lock file.
type File struct {
	APIVersion string  `yaml:"apiVersion"`
	Kind       string  `yaml:"kind"`
	Version    string  `yaml:"version"`            // of bflow
	Revision   string  `yaml:"revision,omitempty"` // commit of the source, with -dirty where files differed from it
	Images     []Image `yaml:"images"`             // sorted by name
}

// Image is one image, of all its platforms.
type Image struct {
	Name      string            `yaml:"name"`                // of the binary
	Ref       string            `yaml:"ref"`                 // with a tag
	Digest    string            `yaml:"digest"`              // of the index of all platforms
	Platforms map[string]string `yaml:"platforms,omitempty"` // such as linux/arm64 -> digest
}

// Pinned is the reference by digest, without the tag.
func (i Image) Pinned() string { return repository(i.Ref) + "@" + i.Digest }

// repository is ref without its tag.
func repository(ref string) string {
	if i := strings.LastIndex(ref, ":"); i > strings.LastIndex(ref, "/") {
		return ref[:i]
	}
	return ref
}

// References maps the name of each image to its reference by digest.
func (f File) References() map[string]string {
	refs := make(map[string]string, len(f.Images))
	for _, i := range f.Images {
		refs[i.Name] = i.Pinned()
	}
	return refs
}

var digest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// Is reports whether data is a lock file by its kind, valid or not.
func Is(data []byte) bool {
	var head struct {
		Kind string `yaml:"kind"`
	}
	return yaml.Unmarshal(data, &head) == nil && head.Kind == Kind
}

// Parse reads a lock file. It is strict: an unknown key is an error.
func Parse(data []byte) (File, error) {
	var f File
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil {
		return File{}, fmt.Errorf("reading the image lock: %w", err)
	}
	if f.APIVersion != APIVersion || f.Kind != Kind {
		return File{}, fmt.Errorf("reading the image lock: it is %s %s, want %s %s", f.APIVersion, f.Kind, APIVersion, Kind)
	}
	for n, i := range f.Images {
		switch {
		case i.Name == "" || i.Ref == "":
			return File{}, fmt.Errorf("reading the image lock: images[%d] needs name and ref", n)
		case !digest.MatchString(i.Digest):
			return File{},
				fmt.Errorf("reading the image lock: digest of %q is %q, want sha256:<64 hex digits>", i.Name, i.Digest)
		}
	}
	return f, nil
}

// Marshal writes f with its images sorted by name: equal locks are equal texts.
func Marshal(f File) ([]byte, error) {
	f.APIVersion, f.Kind = APIVersion, Kind
	f.Images = slices.Clone(f.Images)
	slices.SortFunc(f.Images, func(a, b Image) int { return strings.Compare(a.Name, b.Name) })
	out := bytes.NewBufferString(
		"# Written by bflow images. Keep it beside your experiments; changes made here are lost.\n")
	enc := yaml.NewEncoder(out)
	enc.SetIndent(2)
	if err := enc.Encode(f); err != nil {
		return nil, fmt.Errorf("writing the image lock: %w", err)
	}
	return out.Bytes(), nil
}

// Merge returns next with the images of old that next does not name, where both are of one version and revision.
// So images that were pushed one by one end up in one lock, and a lock never mixes versions.
func Merge(old, next File) File {
	if old.Version != next.Version || old.Revision != next.Revision {
		return next
	}
	next.Images = slices.Clone(next.Images)
	for _, i := range old.Images {
		if !slices.ContainsFunc(next.Images, func(n Image) bool { return n.Name == i.Name }) {
			next.Images = append(next.Images, i)
		}
	}
	return next
}

// Write merges f into the lock file at path, or makes it.
func Write(path string, f File) error {
	old, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("reading the image lock: %w", err)
	default:
		before, err := Parse(old)
		if err != nil {
			return fmt.Errorf("updating %q: %w; remove the file to recreate it", path, err)
		}
		f = Merge(before, f)
	}
	data, err := Marshal(f)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return fmt.Errorf("writing the image lock: %w", err)
	}
	return nil
}
