package progress

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/internal/screen"
)

// silenceLimit is how long a task may be silent before somebody is told what it is about.
const silenceLimit = 2 * time.Second

// working is a task that runs.
type working struct {
	run, task string
	since     time.Time
	log       string // of its step here, "" where it runs on a cluster
	said      string
}

// drawBusy tells of tasks that take their time, but not of those that make load: they have bars.
func (d *Display) drawBusy() {
	for _, key := range slices.Sorted(maps.Keys(d.busy)) {
		b := d.busy[key]
		took := d.now().Sub(b.since)
		if took < silenceLimit || d.loads(b) {
			continue
		}
		text := lastLine(b.log)
		if d.on.Live {
			line := fmt.Sprintf("    %s%-12s %.0f s  %s", d.prefix(b.run), b.task, took.Seconds(), text)
			fmt.Fprintln(d.w, screen.Shorten(line, d.on.Width-1, screen.End))
			d.bars++
			continue
		}
		if text != "" && text != b.said {
			b.said = text
			d.printLine("  %s%-12s %s", d.prefix(b.run), b.task, text)
		}
	}
}

// loads says whether a task makes load of which something is known.
func (d *Display) loads(b *working) bool {
	l := d.load[b.run]
	return l != nil && l.last != nil
}

// tail is how much of a log is looked at.
const tail = 4 << 10

// lastLine is the last whole line of a log, "" where there is none.
func lastLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	data := make([]byte, min(info.Size(), tail))
	n, err := f.ReadAt(data, info.Size()-int64(len(data)))
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	lines := strings.Split(string(data[:n]), "\n")
	if len(lines) < 2 {
		return ""
	}
	return screen.Plain(lines[len(lines)-2])
}
