package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"bflow.dev/bflow/internal/ci/choose"
	"bflow.dev/bflow/internal/ci/green"
)

// broken is what a package is broken with: whatever is built from it panics when it starts.
const broken = "\n\nfunc init() { panic(\"broken on purpose\") }\n"

// prove breaks packages drawn by a seed, one after the other in a scratch copy, and tells which of the chosen rows
// finds each. It needs a commit, and for the rows of MLflow what .ci/install has installed.
func prove(ctx context.Context, out io.Writer, seed, count string) error {
	s, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		return errUsage
	}
	n, err := strconv.Atoi(count)
	if err != nil {
		return errUsage
	}
	p, err := locate()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bflow-broken-")
	if err != nil {
		return fmt.Errorf("making a scratch copy: %w", err)
	}
	defer os.RemoveAll(dir)
	scratch := filepath.Join(dir, "copy")
	if out, err := exec.CommandContext(ctx, "git", "clone", "--quiet", p.root, scratch).CombinedOutput(); err != nil {
		return fmt.Errorf("making a scratch copy: %w\n%s", err, out)
	}
	m, err := choose.Load(ctx, scratch, "e2e")
	if err != nil {
		return err
	}
	b := breaker{module: m, root: scratch, cache: p.cache}
	names := m.Built()
	rand.New(rand.NewPCG(s, s)).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	missed := 0
	for _, name := range names[:min(n, len(names))] {
		by, err := b.find(ctx, name)
		if err != nil {
			return err
		}
		if by == "" {
			by, missed = "NOTHING", missed+1
		}
		fmt.Fprintf(out, "%s: found by %s\n", name, by)
	}
	fmt.Fprintf(out, "%d of %d found\n", min(n, len(names))-missed, min(n, len(names)))
	if missed > 0 {
		return errors.New("a broken package is not found by what its change chooses")
	}
	return nil
}

// breaker breaks packages of a scratch copy.
type breaker struct {
	module      *choose.Module
	root, cache string
}

// find breaks a package and runs what is chosen until something fails: that has found it.
func (b breaker) find(ctx context.Context, name string) (by string, err error) {
	file := filepath.Join(b.root, b.module.Files(name)[0])
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("breaking %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, os.WriteFile(file, text, 0o644)) }()
	if err := os.WriteFile(file, append(text[:len(text):len(text)], broken...), 0o644); err != nil {
		return "", fmt.Errorf("breaking %s: %w", name, err)
	}
	changed, err := green.Changed(ctx, b.root, "HEAD")
	if err != nil {
		return "", err
	}
	for _, c := range b.module.Choose(append(unitRows(b.module), rows(b.module)...), changed) {
		if c.Because == "" {
			continue
		}
		if argv := b.command(c.Row); len(argv) > 0 && b.fails(ctx, argv) {
			return c.Name, ctx.Err()
		}
	}
	return "", ctx.Err()
}

// unitRows are the unit tests, which always run.
func unitRows(m *choose.Module) (all []choose.Row) {
	for _, pkg := range m.Packages(".") {
		if m.HasTests(pkg) {
			all = append(all, choose.Row{Name: "unit test of " + pkg, Tests: []string{pkg}})
		}
	}
	return all
}

// command runs a row; nothing for one that needs clusters.
func (b breaker) command(r choose.Row) []string {
	switch r.Name {
	case rowClusters:
		return nil
	case newest, oldest:
		return onMLflow(b.cache, r.Name)
	case rowSoak:
		return []string{"make", "soak", "SOAK=-requests 2000"}
	case rowValidity:
		return []string{"make", "bench-validity", "VALIDITY=-stages 3 -check"}
	}
	return []string{"go", "test", "-count", "1", "-failfast", r.Tests[0]}
}

// fails reports whether a command fails for the panic, and not for another reason.
func (b breaker) fails(ctx context.Context, argv []string) bool {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = b.root
	out, err := cmd.CombinedOutput()
	return err != nil && strings.Contains(string(out), "broken on purpose")
}
