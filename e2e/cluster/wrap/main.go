// Command wrap makes an image of a program and the libraries that it is linked with, pushes it to a registry without
// TLS, and prints its name by digest: `wrap REFERENCE PROGRAM`. It is for programs of others that tests on clusters
// run, and must not be used for images that people pull.
package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: wrap REFERENCE PROGRAM")
		os.Exit(2)
	}
	if err := wrap(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func wrap(reference, program string) error {
	ref, err := name.ParseReference(reference, name.Insecure)
	if err != nil {
		return fmt.Errorf("reading the reference: %w", err)
	}
	img, err := image(program)
	if err != nil {
		return fmt.Errorf("making an image of %s: %w", program, err)
	}
	if err := remote.Write(ref, img); err != nil {
		return fmt.Errorf("pushing %s: %w", reference, err)
	}
	digest, err := img.Digest()
	fmt.Println(ref.Context().Digest(digest.String()))
	return err
}

// image has the program in /usr/local/bin, which is where its PATH looks, and its libraries where they are here.
func image(program string) (v1.Image, error) {
	at := path.Join("/usr/local/bin", filepath.Base(program))
	files := map[string]string{at: program}
	for _, library := range libraries(program) {
		files[library] = library
	}
	var layer bytes.Buffer
	if err := pack(&layer, files); err != nil {
		return nil, err
	}
	one, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(layer.Bytes())), nil
	})
	if err != nil {
		return nil, err
	}
	img, err := mutate.AppendLayers(empty.Image, one)
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config = v1.Config{Entrypoint: []string{at}, Env: []string{"PATH=/usr/local/bin"}, User: "65532"}
	return mutate.ConfigFile(img, config)
}

// libraries are the files that a program is linked with, none of a static one.
func libraries(program string) []string {
	out, _ := exec.Command("ldd", program).Output() // it fails where there are none
	var files []string
	for _, m := range regexp.MustCompile(`(?m)(/\S+) \(0x`).FindAllStringSubmatch(string(out), -1) {
		files = append(files, m[1])
	}
	return files
}

// pack writes files as a layer: what each is called there, and where it is here.
func pack(to io.Writer, files map[string]string) error {
	w := tar.NewWriter(to)
	for _, at := range slices.Sorted(maps.Keys(files)) {
		data, err := os.ReadFile(files[at])
		if err != nil {
			return err
		}
		head := &tar.Header{Name: strings.TrimPrefix(at, "/"), Mode: 0o755, Size: int64(len(data)), Typeflag: tar.TypeReg}
		if err := w.WriteHeader(head); err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	return w.Close()
}
