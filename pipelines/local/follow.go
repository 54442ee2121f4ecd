package local

import (
	"bytes"
	"io"
	"os"
	"strings"
	"time"
)

// follow calls emit with each line that is added to the file at path from offset on, until ended is closed and all is
// read. Steps write their logs themselves, so that a slow reader never holds one up and no log line is lost with us.
func follow(path string, offset int64, ended <-chan struct{}, emit func(line string)) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var rest []byte
	for last := false; ; {
		data, _ := io.ReadAll(io.NewSectionReader(f, offset, 1<<62))
		offset += int64(len(data))
		rest = lines(append(rest, data...), emit)
		if last {
			if len(rest) > 0 {
				emit(string(rest))
			}
			return
		}
		select {
		case <-ended:
			last = true
		case <-tick.C:
		}
	}
}

// lines emits the whole lines of data and returns what follows the last one.
func lines(data []byte, emit func(string)) []byte {
	for {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			return data
		}
		emit(string(bytes.TrimSuffix(data[:i], []byte("\r"))))
		data = data[i+1:]
	}
}

// longestLine is how much of a line is told, in bytes.
const longestLine = 400

// lastLine returns the last line of the file at path that is not blank, or "".
func lastLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	tail, _ := io.ReadAll(io.NewSectionReader(f, max(0, size-8<<10), 8<<10))
	tail = bytes.TrimSpace(tail)
	line := bytes.TrimSpace(tail[bytes.LastIndexByte(tail, '\n')+1:])
	return strings.ToValidUTF8(string(line[:min(len(line), longestLine)]), "")
}
