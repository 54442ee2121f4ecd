package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed tokenizer.py
var tokenizerScript string

// installLimit bounds what pip may take for one tool.
const installLimit = 20 * time.Minute

// install finds or makes the virtual environment of a tool and the tokenizer that all tools share.
func (l *lab) install(name, folder string) (client, error) {
	p, err := newPeer(l, name)
	if err != nil {
		return nil, err
	}
	if folder == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("finding a place for virtual environments: %w", err)
		}
		folder = filepath.Join(cache, "bflow-peers")
	}
	if p.venv, err = filepath.Abs(filepath.Join(folder, name)); err != nil {
		return nil, err
	}
	if _, err := os.Stat(p.program()); err != nil {
		if err := l.makeVenv(p); err != nil {
			return nil, err
		}
	}
	p.tokenizer = filepath.Join(l.dir, "tokenizer")
	if _, err := os.Stat(filepath.Join(p.tokenizer, "tokenizer.json")); err == nil {
		return p, nil
	}
	return p, l.python(filepath.Join(p.venv, "bin", "python"), time.Minute, "-c", tokenizerScript, p.tokenizer)
}

// makeVenv makes a virtual environment and installs the tool in it.
func (l *lab) makeVenv(p *peer) error {
	python, err := interpreter(l.ctx)
	if err != nil {
		return err
	}
	l.say("installing %s into %s", p.requirement, p.venv)
	if err := l.python(python, time.Minute, "-m", "venv", p.venv); err != nil {
		return err
	}
	return l.python(filepath.Join(p.venv, "bin", "python"), installLimit, "-m", "pip", "install", "-q", p.requirement)
}

// interpreter finds a Python that every tool runs on: the one that PYTHON names, on PATH, or of pyenv.
func interpreter(ctx context.Context) (string, error) {
	candidates := []string{os.Getenv("PYTHON"), "python3.12", "python3.13", "python3"}
	for _, root := range []string{os.Getenv("PYENV_ROOT"), filepath.Join(os.Getenv("HOME"), ".pyenv")} {
		found, err := filepath.Glob(filepath.Join(root, "versions", "3.1[23].*", "bin", "python3"))
		if err != nil {
			return "", fmt.Errorf("looking for Python: %w", err)
		}
		candidates = append(candidates, found...)
	}
	for _, name := range candidates {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		check := "import sys; sys.exit(not (3, 12) <= sys.version_info < (3, 14))"
		if exec.CommandContext(ctx, path, "-c", check).Run() == nil {
			return path, nil
		}
	}
	return "", errors.New("no Python 3.12 or 3.13 on PATH: name one by the variable PYTHON")
}

// python runs an interpreter; its error ends with the last line that was printed.
func (l *lab) python(path string, within time.Duration, args ...string) error {
	ctx, cancel := context.WithTimeout(l.ctx, within)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return fmt.Errorf("running %s %s: %w: %s", filepath.Base(path), args[0], err, lines[len(lines)-1])
}
