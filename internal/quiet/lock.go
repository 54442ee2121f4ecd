package quiet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"bflow.dev/bflow/internal/eventually"
)

// lockPath is the same for every checkout and every user of this machine, which is why it does not follow TMPDIR.
const lockPath = "/tmp/bflow-quiet.lock"

// takeLock waits for the lock of this machine.
func takeLock(path string) (unlock func(), err error) {
	file, err := openLock(path)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of tests that run alone: %w", err)
	}
	err = eventually.Look(context.Background(), "the lock of tests that run alone", func() error {
		if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			return fmt.Errorf("locking %s: %w", path, err)
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { _ = file.Close() }, nil // which unlocks
}

// openLock opens the file for reading, which is enough to lock it: one that another user has made cannot be opened for
// more in a folder like /tmp.
func openLock(path string) (*os.File, error) {
	for {
		file, err := os.Open(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
		made, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue // somebody was faster
		}
		if err != nil {
			return nil, err
		}
		if err := errors.Join(made.Chmod(0o644), made.Close()); err != nil { // whatever the umask is
			return nil, err
		}
	}
}
