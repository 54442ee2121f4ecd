package results

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"bflow.dev/bflow/results/checksums"
)

// Manifest lists the files of a run, in the order of their paths.
type Manifest struct {
	Files []checksums.File `json:"files"` // without sums where nobody asked for them
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
		return "", fmt.Errorf("%q is not a regular file: %w", path, fs.ErrNotExist)
	}
	key := sumKey{path, size, info.Size(), info.ModTime()}
	s.mu.Lock()
	sum, ok := s.known[key]
	s.mu.Unlock()
	if ok {
		return sum, nil
	}
	sum, n, err := checksums.Sum(io.LimitReader(f, size))
	if err == nil && n < size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return "", fmt.Errorf("reading %d bytes of %q: %w", size, path, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[key] = sum
	return sum, nil
}
