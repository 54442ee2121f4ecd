package results

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"
)

// Manifest lists the files of a run, in the order of their paths.
type Manifest struct {
	Files []File `json:"files"`
}

// File is one of them.
type File struct {
	Path   string `json:"path"` // relative to the run directory, with slashes
	Size   int64  `json:"size"` // bytes
	SHA256 string `json:"sha256,omitempty"`
}

// list returns the regular files below root without checksums. Left out are those whose name begins with a dot, which
// are half written, and folders that cannot be read, such as lost+found of a fresh volume.
func list(root *os.Root) ([]File, error) {
	files := []File{}
	err := fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path != "." && (errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist)):
			return nil // fs.WalkDir does not go into a folder it could not read
		case err != nil:
			return err
		case path != "." && strings.HasPrefix(d.Name(), "."):
			return skip(d)
		case !d.Type().IsRegular():
			return nil
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // renamed since
		}
		if err != nil {
			return err
		}
		files = append(files, File{Path: path, Size: info.Size()})
		return nil
	})
	return files, err
}

func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// sums are the checksums of files, kept until a file changes.
type sums struct {
	mu    sync.Mutex
	known map[sumKey]string
}

type sumKey struct {
	path     string
	size     int64 // how much of the file it covers
	total    int64
	modified time.Time
}

// of returns the SHA-256 of the first size bytes of the file at path: a file that still grows keeps its beginning.
func (s *sums) of(root *os.Root, path string, size int64) (string, error) {
	f, err := root.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%q is no file: %w", path, fs.ErrNotExist)
	}
	key := sumKey{path, size, info.Size(), info.ModTime()}
	s.mu.Lock()
	sum, ok := s.known[key]
	s.mu.Unlock()
	if ok {
		return sum, nil
	}
	h := sha256.New()
	if _, err := io.CopyN(h, f, size); err != nil {
		return "", fmt.Errorf("reading %d bytes of %q: %w", size, path, err)
	}
	sum = hex.EncodeToString(h.Sum(nil))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[key] = sum
	return sum, nil
}
