// Package durable writes the files of a run so that a power failure leaves each file complete or as it was before,
// and never loses a file that a later one relies on.
//
// A file written as a whole (WriteFile, WriteJSON, Create) is synced before it gets its name, and its name is synced
// when the function returns. A file that grows under its name (CreateGrowing, AppendGrowing) is durable once SyncTree
// has processed it; code that relies on the file calls SyncTree first. Package fence makes sure that tasks, the local
// executor and bflow name files in no other way. The package must not know what the files mean.
package durable

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// WriteFile makes data the content of path, making its folder where it is missing. When it returns nil, both are on
// disk; before that a reader, and whoever looks after a crash, sees the old content or the new, never a part.
func WriteFile(path string, data []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(data); err != nil {
		return fmt.Errorf("writing %q: %w", path, err)
	}
	return f.Commit()
}

// WriteJSON is WriteFile of v as indented JSON with a line end.
func WriteJSON(path string, v any) error {
	data, err := encode(path, v)
	if err != nil {
		return err
	}
	return WriteFile(path, data)
}

// Replace makes data the content of path as WriteFile does, and waits for no disk: after a crash the file may be empty.
// It is for what is read while the run goes on and is worth nothing after a crash.
func Replace(path string, data []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(data); err != nil {
		return fmt.Errorf("writing %q: %w", path, err)
	}
	return f.rename()
}

// ReplaceJSON is Replace of v as indented JSON with a line end.
func ReplaceJSON(path string, v any) error {
	data, err := encode(path, v)
	if err != nil {
		return err
	}
	return Replace(path, data)
}

func encode(path string, v any) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding %q: %w", path, err)
	}
	return append(data, '\n'), nil
}

// File is a stream that becomes a file with Commit. Its temporary name begins with a dot, which everybody passes over.
type File struct {
	*os.File
	// Unread says that nobody reads the file soon, so that what is on disk leaves memory: gigabytes that are in memory
	// take a second to remove.
	Unread bool

	path    string
	done    bool
	written int64
	begun   int64 // how much of it is on its way to disk
}

// step is how much of a file is brought to disk at a time: Commit or Discard of gigabytes that are in memory alone
// would take many seconds, in which nothing can end the process.
const step = 8 << 20

// Write writes to the file, and has the disk take what was written meanwhile.
func (f *File) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.written += int64(n)
	for err == nil && f.written-f.begun >= step {
		err = bringToDisk(f.File, f.begun, step, f.Unread)
		f.begun += step
	}
	return n, err
}

// ReadFrom is that of an io.Writer, so that a copy passes Write.
func (f *File) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{f}, r)
}

// Create begins the file at path, making its folder where it is missing. Discard must follow, after Commit it does
// nothing.
func Create(path string) (*File, error) {
	if err := MkdirAll(filepath.Dir(path)); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, fmt.Errorf("writing %q: %w", path, err)
	}
	return &File{File: f, path: path}, nil
}

// Commit gives the file its name. It is on disk, and so is its name, when Commit returns nil.
func (f *File) Commit() error {
	if err := f.Sync(); err != nil {
		return fmt.Errorf("writing %q: %w", f.path, err)
	}
	if err := f.rename(); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(f.path))
}

func (f *File) rename() error {
	err := f.Chmod(0o644)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		return fmt.Errorf("writing %q: %w", f.path, err)
	}
	f.done = true
	return nil
}

// Discard closes and removes a file without a name.
func (f *File) Discard() {
	if !f.done {
		f.done = true
		_ = f.Close()
		_ = os.Remove(f.Name())
	}
}

// CreateGrowing begins an empty file under its name, for what is worth something half written: a process that is killed
// leaves what it has written so far, and a reader that knows it may be cut.
func CreateGrowing(path string) (*os.File, error) { return os.Create(path) }

// AppendGrowing opens a file that CreateGrowing or AppendGrowing has begun, or begins it.
func AppendGrowing(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
}

// Rename gives the file or folder from the name to, in a folder that is there. Both names are on disk when it returns
// nil; what a file holds is not touched.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	if filepath.Dir(from) != filepath.Dir(to) {
		if err := SyncFolder(filepath.Dir(from)); err != nil {
			return err
		}
	}
	return SyncFolder(filepath.Dir(to))
}

// MkdirAll makes path with every folder above it that is missing, each on disk when it returns nil.
func MkdirAll(path string) error {
	if info, err := os.Stat(path); err == nil {
		if !info.IsDir() {
			return fmt.Errorf("making folder %q: %w", path, syscall.ENOTDIR)
		}
		return nil
	}
	if above := filepath.Dir(path); above != path {
		if err := MkdirAll(above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making folder %q: %w", path, err)
	}
	return SyncFolder(filepath.Dir(path))
}

// SyncTree brings every file and folder below dir, and dir itself, to disk: what was streamed into it lies there before
// something vouches for it. Files that are gone meanwhile are passed over.
func SyncTree(dir string) error {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && path != dir:
			return nil
		case err != nil:
			return err
		case d.IsDir():
			return SyncFolder(path)
		case d.Type().IsRegular():
			return syncFile(path)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("bringing %q to disk: %w", dir, err)
	}
	return nil
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// SyncFolder brings the names in a folder to disk. Some file systems of networks and of users cannot, and say so: their
// names are as safe as they make them.
func SyncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("bringing folder %q to disk: %w", path, err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("bringing folder %q to disk: %w", path, err)
	}
	return nil
}
