package gitsource

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/memory"
)

// filesOf reads what paths name in the tree of a commit.
func filesOf(objects *memory.Storage, commit plumbing.Hash, paths []string) (*Files, error) {
	c, err := object.GetCommit(objects, commit)
	if err != nil {
		return nil, fmt.Errorf("reading commit %s: %w", commit, err)
	}
	root, err := c.Tree()
	if err != nil {
		return nil, fmt.Errorf("reading commit %s: %w", commit, err)
	}
	f := &Files{Commit: commit.String(), Text: map[string][]byte{}}
	for _, p := range paths {
		if err := f.path(objects, root, p); err != nil {
			return nil, fmt.Errorf("commit %s: %w", commit, err)
		}
	}
	return f, nil
}

// path takes a file, or every *.yaml of a folder.
func (f *Files) path(objects *memory.Storage, root *object.Tree, name string) error {
	if name == "." {
		return f.folder(root, "")
	}
	entry, err := root.FindEntry(name)
	if err != nil {
		return fmt.Errorf("there is no file %q", name)
	}
	switch entry.Mode {
	case filemode.Dir:
		tree, err := object.GetTree(objects, entry.Hash)
		if err != nil {
			return fmt.Errorf("reading folder %q: %w", name, err)
		}
		return f.folder(tree, name)
	case filemode.Regular, filemode.Executable, filemode.Deprecated:
		return f.file(root, name)
	}
	return fmt.Errorf("%q is a symbolic link or a submodule; name the file itself", name)
}

// folder takes every *.yaml below, in the order of their names. Links and submodules are passed over, as is what is too
// large to be ours.
func (f *Files) folder(tree *object.Tree, at string) error {
	before := len(f.Names)
	walk := object.NewTreeWalker(tree, true, nil)
	defer walk.Close()
	for {
		name, entry, err := walk.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("reading folder %q: %w", at, err)
		}
		if entry.Mode != filemode.Regular && entry.Mode != filemode.Executable || path.Ext(name) != ".yaml" {
			continue
		}
		if err := f.blob(tree, name, path.Join(at, name)); err != nil {
			return err
		}
	}
	if len(f.Names) == before {
		return fmt.Errorf("folder %q contains no *.yaml file", at)
	}
	return nil
}

func (f *Files) file(root *object.Tree, name string) error { return f.blob(root, name, name) }

// blob takes one file.
func (f *Files) blob(tree *object.Tree, in, name string) error {
	if slices.Contains(f.Names, name) {
		return nil
	}
	if len(f.Names) == maxFiles {
		return fmt.Errorf("more than %d files; name fewer folders", maxFiles)
	}
	file, err := tree.File(in)
	if err != nil || file.Size > maxFile { // the server was asked to leave large ones out
		return fmt.Errorf("file %q cannot be read, or is larger than %d KiB", name, maxFile>>10)
	}
	text, err := file.Contents()
	if err != nil {
		return fmt.Errorf("reading file %q: %w", name, err)
	}
	f.Names, f.Text[name] = append(f.Names, name), []byte(text)
	return nil
}

// WriteTo writes the files below dir, as plain files.
func (f *Files) WriteTo(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("writing the files of commit %s: %w", f.Commit, err)
	}
	defer root.Close()
	for _, name := range f.Names {
		err := root.MkdirAll(path.Dir(name), 0o700)
		if err == nil {
			err = root.WriteFile(name, f.Text[name], 0o600)
		}
		if err != nil {
			return fmt.Errorf("writing the files of commit %s: %w", f.Commit, err)
		}
	}
	return nil
}
