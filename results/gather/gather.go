// Package gather copies the results of runs from their volumes to one folder for many runs, and marks a copy as
// complete only after reading it back. It must not know what the files mean.
package gather

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/results/checksums"
)

// half begins the name of a copy that is not whole.
const half = ".half-"

// Copy brings the results of a run from folder from to folder name of into. A copy that is there is whole. Files that
// are not as they were when the run ended are a *checksums.DamagedError, and nothing is left of a copy that failed.
func Copy(from, into, name string) error {
	if !filepath.IsLocal(name) || filepath.Base(name) != name {
		return fmt.Errorf("gathering the results of run %q: the name is not that of a folder", name)
	}
	whole := filepath.Join(into, name)
	if _, err := os.Stat(whole); err == nil {
		return nil
	}
	if err := checksums.Verify(from, nil); err != nil {
		return err
	}
	part := filepath.Join(into, half+name)
	if err := os.RemoveAll(part); err != nil {
		return fmt.Errorf("removing what an earlier try has left: %w", err)
	}
	err := errors.Join(copyFiles(from, part), durable.SyncTree(part))
	if err == nil {
		err = durable.Rename(part, whole)
	}
	if err != nil {
		return fmt.Errorf("gathering the results of run %q: %w", name, errors.Join(err, os.RemoveAll(part)))
	}
	return nil
}

func copyFiles(from, to string) error {
	source, err := os.OpenRoot(from) // whoever wrote the files may have made links that lead elsewhere
	if err != nil {
		return err
	}
	defer source.Close()
	if err := durable.MkdirAll(to); err != nil {
		return err
	}
	target, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer target.Close()
	files, err := checksums.List(source.FS())
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := copyFile(source, target, f.Path); err != nil {
			return fmt.Errorf("copying %q: %w", f.Path, err)
		}
	}
	return nil
}

// copyFile reads the copy back: an answer of the disk is no promise of the bytes.
func copyFile(source, target *os.Root, name string) error {
	if info, err := source.Lstat(name); err != nil || !info.Mode().IsRegular() { // before opening: a pipe would block
		return errors.Join(err, fs.ErrInvalid)
	}
	in, err := source.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := target.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	out, err := target.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := out.ReadFrom(in); err != nil {
		return err
	}
	if _, err := in.Seek(0, 0); err != nil {
		return err
	}
	want, _, err := checksums.Sum(in)
	if err != nil {
		return err
	}
	if _, err := out.Seek(0, 0); err != nil {
		return err
	}
	if got, _, err := checksums.Sum(out); err != nil || got != want {
		return errors.Join(err, errors.New("the copy differs from the original"))
	}
	return out.Close()
}
