package images

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Module is the path of bflow's module.
const Module = "bflow.dev/bflow"

// ErrNoSource says that a folder is outside bflow's source.
var ErrNoSource = errors.New("no go.mod of module " + Module +
	" is in it or above it; run this in a checkout of bflow, or name one with --source")

// FindSource returns dir, or the nearest folder above it, that holds the go.mod of bflow.
func FindSource(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("looking for bflow's source: %w", err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		ours, err := isSource(at)
		if err != nil {
			return "", fmt.Errorf("looking for bflow's source: %w", err)
		}
		if ours {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("looking for bflow's source from %q: %w", dir, ErrNoSource)
		}
	}
}

func isSource(dir string) (bool, error) {
	f, err := os.Open(filepath.Join(dir, "go.mod"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if path, ok := strings.CutPrefix(lines.Text(), "module "); ok {
			return strings.Trim(strings.TrimSpace(path), `"`) == Module, nil
		}
	}
	return false, nil
}

// Revision returns the commit of the source in dir, with -dirty where files that git knows differ from it. It is empty
// where there is no git or dir is no checkout of it.
func Revision(ctx context.Context, dir string) string {
	cmd := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
