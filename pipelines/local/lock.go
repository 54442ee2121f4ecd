package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// holder is the executor that holds a run: the content of the lock file.
type holder struct {
	PID   int    `json:"pid"`
	Ticks uint64 `json:"ticks"`
}

// lock takes runDir for this process, until unlock. The lock belongs to the open file (not to the
// process, nor to a child), so the kernel drops it however the executor ends, and it can be asked for without taking
// it.
func lock(runDir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(runDir, fileLock), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("locking run: %w", err)
	}
	whole := unix.Flock_t{Type: unix.F_WRLCK}
	err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &whole)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		h := readHolder(f)
		f.Close()
		return nil, &LockedError{RunDir: runDir, PID: h.PID}
	}
	if err == nil {
		err = writeHolder(f)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("locking run %q: %w", runDir, err)
	}
	return f, nil
}

// unlock gives the run back at once: closing alone would not while a child between fork and exec shares the file.
func unlock(f *os.File) {
	whole := unix.Flock_t{Type: unix.F_UNLCK}
	_ = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &whole)
	f.Close()
}

func writeHolder(f *os.File) error {
	ticks, err := startTicks(os.Getpid())
	if err != nil {
		return err
	}
	data, err := json.Marshal(holder{PID: os.Getpid(), Ticks: ticks})
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(data, 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(data)))
}

// heldBy returns who holds runDir, or false when nobody does.
func heldBy(runDir string) (holder, bool) {
	f, err := os.Open(filepath.Join(runDir, fileLock))
	if err != nil {
		return holder{}, false
	}
	defer f.Close()
	whole := unix.Flock_t{Type: unix.F_RDLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &whole); err != nil || whole.Type == unix.F_UNLCK {
		return holder{}, false
	}
	return readHolder(f), true
}

// readHolder returns the content of the lock file; zero where its holder has not written it yet.
func readHolder(f *os.File) holder {
	var h holder
	data := make([]byte, 256)
	n, _ := f.ReadAt(data, 0)
	if json.Unmarshal(data[:n], &h) != nil {
		return holder{}
	}
	return h
}
