// Command files measures `bflow export` of a synthetic run of millions of requests, and `bflow import` of the
// exported files, with one process per format: throughput, memory, and how fast a signal stops it. It creates the run
// in the layout of load-gen and generates no load.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"bflow.dev/bflow/bench/rig"
)

// What an export and an import may take.
const (
	mostMemory  = 256 << 20 // bytes, of an export
	mostImport  = 512 << 20
	leastRate   = 60e6    // bytes per second, of files that are large enough to tell
	largeEnough = 1 << 30 // bytes: below, reading the rows is most of the time
	maxEndTime  = time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var f files
	formats := ""
	flag.IntVar(&f.requests, "requests", 2_000_000, "requests of the run")
	flag.StringVar(&formats, "formats",
		"rows-csv,guidellm,guidellm-0.3.1,vllm-bench-detailed,inference-perf,aiperf,opensearch,opensearch-bulk,csv",
		"formats to write, separated by commas")
	flag.StringVar(&f.bflow, "bflow", "", "path to bflow; empty = build it")
	flag.StringVar(&f.work, "work", "", "folder for run and files, with 40 GB of free space; empty = a temporary folder")
	flag.Parse()
	f.formats = strings.Split(formats, ",")
	ok, err := f.run(ctx, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "files:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// files is what is measured.
type files struct {
	requests    int
	formats     []string
	bflow, work string
}

// run measures every format and prints a line for each; false when one takes too much.
func (f files) run(ctx context.Context, out io.Writer) (bool, error) {
	dir, err := os.MkdirTemp(f.work, "bflow-files-")
	if err != nil {
		return false, fmt.Errorf("making a folder for the run: %w", err)
	}
	defer os.RemoveAll(dir)
	if f.bflow == "" {
		f.bflow = filepath.Join(dir, "bflow")
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", f.bflow,
			"bflow.dev/bflow/cmd/bflow")
		if text, err := build.CombinedOutput(); err != nil {
			return false, fmt.Errorf("building bflow: %w\n%s", err, text)
		}
	}
	if err := makeRun(ctx, filepath.Join(dir, "files"), f.requests); err != nil {
		return false, fmt.Errorf("making a run of %d requests: %w", f.requests, err)
	}
	fmt.Fprintf(out, "files of %d requests; limits: %d MB of memory, %d of an import, %.0f MB/s of files above %d "+
		"MB, an end within %v of a signal\n\n",
		f.requests, mostMemory>>20, mostImport>>20, leastRate/1e6, largeEnough>>20, maxEndTime)
	fmt.Fprintf(out, line, "command", "MB", "s", "MB/s", "MB per s of CPU", "peak MB", "ends after s", "verdict")
	good := true
	for _, format := range f.formats {
		all, err := f.measure(ctx, dir, format)
		if err != nil {
			return false, err
		}
		for _, m := range all {
			good = good && m.verdict() == "ok"
			fmt.Fprint(out, m)
		}
	}
	return good, nil
}

// measured is one command.
type measured struct {
	what string
	size int64 // of its files, bytes
	most int64 // memory, bytes
	use  rig.Usage
	end  time.Duration // from the signal to the exit, of a second one that was ended; 0 where it was over before
}

func (m measured) verdict() string {
	switch {
	case m.use.PeakRSS > m.most:
		return "too much memory"
	case m.size > largeEnough && float64(m.size)/m.use.Wall().Seconds() < leastRate:
		return "too slow"
	case m.end > maxEndTime:
		return "ends late"
	}
	return "ok"
}

// line is a line of the table, which is printed as it is measured: a format takes minutes.
const line = "%-26s %8v %8v %6v %16v %8v %13v  %s\n"

// String is the line of the table.
func (m measured) String() string {
	mb, round := float64(m.size)/1e6, func(v float64) string { return fmt.Sprintf("%.1f", v) }
	return fmt.Sprintf(line, m.what, round(mb), round(m.use.Wall().Seconds()), round(mb/m.use.Wall().Seconds()),
		round(mb/m.use.CPU().Seconds()), m.use.PeakRSS>>20, round(m.end.Seconds()), m.verdict())
}

// isRead says whether a format has the requests and is one of those that are imported.
func isRead(format string) bool {
	switch format {
	case "guidellm", "guidellm-0.3.1", "vllm-bench-detailed", "inference-perf", "aiperf":
		return true
	}
	return false
}

// measure exports the run and imports what that has left.
func (f files) measure(ctx context.Context, dir, format string) ([]measured, error) {
	to, name := filepath.Join(dir, "export"), "imported"
	written, err := f.command(ctx, mostMemory, to, "export", "--runs-dir", dir, "--format", format, "--out",
		to+string(filepath.Separator), "files")
	if err != nil || !isRead(format) {
		return []measured{written}, errorOr(err, os.RemoveAll(to))
	}
	from := filepath.Join(dir, "files-of-"+format)
	if err := os.Rename(to, from); err != nil {
		return nil, err
	}
	read, err := f.command(ctx, mostImport, filepath.Join(dir, name), "import", "--runs-dir", dir, "--name", name,
		"--output", "json", from)
	if read.size = written.size; err == nil {
		err = os.RemoveAll(from)
	}
	return []measured{written, read}, err
}

// command runs bflow once as a whole and once until a signal in the middle. What it leaves at path is measured and
// removed.
func (f files) command(ctx context.Context, most int64, path string, args ...string) (measured, error) {
	m := measured{what: args[0] + " " + args[4], most: most}
	if args[0] == "import" {
		m.what = args[0] + " " + strings.TrimPrefix(filepath.Base(args[len(args)-1]), "files-of-")
	}
	c := rig.Command{Path: f.bflow, Core: rig.Anywhere, Stderr: os.Stderr, Args: args}
	var err error
	if m.use, err = rig.Run(ctx, c); err != nil {
		return m, err
	}
	if m.use.ExitCode != 0 {
		return m, fmt.Errorf("bflow %s ended with exit code %d", strings.Join(args, " "), m.use.ExitCode)
	}
	if m.size, err = size(path); err != nil {
		return m, err
	}
	kept := path + "-kept"
	if err := os.Rename(path, kept); err != nil {
		return m, err
	}
	m.end, err = interrupted(ctx, c, m.use.Wall()/2)
	if _, left := os.Stat(path); err == nil && m.end > 0 && args[0] == "import" && left == nil {
		err = fmt.Errorf("bflow %s left a run though it was interrupted", strings.Join(args, " "))
	}
	if err = errorOr(err, os.RemoveAll(path)); err != nil || args[0] == "import" {
		return m, errorOr(err, os.RemoveAll(kept))
	}
	return m, os.Rename(kept, path)
}

func errorOr(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// interrupted returns how long a process takes to end once it is told to after a while; 0 where it has ended before.
func interrupted(ctx context.Context, c rig.Command, after time.Duration) (time.Duration, error) {
	c.Stderr = io.Discard
	p, err := rig.Start(ctx, c)
	if err != nil {
		return 0, err
	}
	told := int64(0)
	timer := time.AfterFunc(after, func() {
		told = rig.Now()
		p.Interrupt()
	})
	use, err := p.Wait()
	if timer.Stop() || err != nil || told == 0 || use.ExitCode == 0 {
		return 0, err
	}
	return time.Duration(use.Ended - told), nil
}

func size(dir string) (int64, error) {
	total := int64(0)
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}
