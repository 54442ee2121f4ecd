package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// inFlight is how many bytes of a file may be on their way to disk.
const inFlight = 4 * step

// bringToDisk has the disk take n bytes of a file from offset at, and waits for what was begun inFlight bytes ago,
// which leaves memory where it is unread. It makes nothing durable: Sync does. File systems that cannot do it say so,
// and do without.
func bringToDisk(f *os.File, at, n int64, unread bool) error {
	fd := int(f.Fd())
	err := unix.SyncFileRange(fd, at, n, unix.SYNC_FILE_RANGE_WRITE)
	if before := at - inFlight; err == nil && before >= 0 {
		err = unix.SyncFileRange(fd, before, n,
			unix.SYNC_FILE_RANGE_WAIT_BEFORE|unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER)
		if err == nil && unread {
			err = unix.Fadvise(fd, before, n, unix.FADV_DONTNEED)
		}
	}
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ESPIPE) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
