package images

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// buildFlags are those of go build. What a machine could add (paths, git, a C compiler) stays out of the binary.
func buildFlags(version string) []string {
	return []string{"-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X " + Module + "/tasks/step.Version=" + version}
}

// buildEnv keeps a machine's own settings from changing a binary.
func buildEnv() []string {
	return []string{"CGO_ENABLED=0", "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=-mod=readonly", "GOWORK=off", "GOFIPS140=off"}
}

// goBuild compiles cmd/NAME of every name for a platform into dir. One call of the go tool shares what they have in
// common.
func goBuild(ctx context.Context, o Options, platform string, names []string, dir string) error {
	args := append([]string{"build"}, buildFlags(o.Version)...)
	args = append(args, "-o", dir+string(filepath.Separator))
	for _, name := range names {
		args = append(args, "./cmd/"+name)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = o.Source
	system, arch, _ := strings.Cut(platform, "/")
	cmd.Env = append(os.Environ(), append(buildEnv(), "GOOS="+system, "GOARCH="+arch)...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("compiling for %s: %w; images are compiled from source: install Go, or push a layout "+
			"from elsewhere with --from", platform, err)
	default:
		return fmt.Errorf("compiling %s for %s: %w\n%s",
			strings.Join(names, ", "), platform, err, strings.TrimSpace(said.String()))
	}
}
