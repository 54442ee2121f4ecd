package external

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/report/tools"
)

// toWall gives results their place in time whose files hold the monotonic clock alone, which means nothing to whoever
// finds them; here it is the clock of this host, whose wall time is known.
func toWall(ctx context.Context, of tool.External, docs []tools.Document, in *tools.Imported) {
	clock, ok := of.(tool.MonotonicClock)
	if !ok {
		return
	}
	first, ok := clock.FirstStart(ctx, docs)
	if !ok {
		return
	}
	by := time.Now().UnixNano() - monotonic() + first - in.AnchorUnixNS
	in.AnchorUnixNS += by
	in.Notes = slices.DeleteFunc(in.Notes, func(n string) bool { return n == tools.NoTimeOfDay })
	for i := range in.Stages {
		s := &in.Stages[i]
		for _, t := range []*int64{&s.StartNS, &s.EndNS, &s.DrainEndNS, &s.WindowStart, &s.WindowEnd} {
			if *t != 0 {
				*t += by
			}
		}
	}
}

func monotonic() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return t.Nano()
}

// installedVersion finds what pip noted about a distribution in the virtual environment of program; "" where there is
// none.
func installedVersion(distribution, program string) string {
	prefix := strings.ReplaceAll(distribution, "-", "_") + "-"
	venv := filepath.Dir(filepath.Dir(program))
	paths, err := filepath.Glob(filepath.Join(venv, "lib", "python3*", "site-packages", prefix+"*.dist-info"))
	if err != nil || len(paths) != 1 {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(paths[0]), prefix), ".dist-info")
}
