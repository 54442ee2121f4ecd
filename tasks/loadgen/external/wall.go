package external

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bflow.dev/bflow/load"
	"bflow.dev/bflow/report/tools"
)

// toWall gives the results of inference-perf their place in time. Its files hold the monotonic clock alone, which means
// nothing to whoever finds them; here it is the clock of this host, whose wall time is known.
func toWall(ctx context.Context, tool string, docs []tools.Document, in *tools.Imported) {
	first, ok := firstStart(ctx, tool, docs)
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

// firstStart is the start of the first request, ns of the monotonic clock.
func firstStart(ctx context.Context, tool string, docs []tools.Document) (int64, bool) {
	if tool != load.InferencePerf {
		return 0, false
	}
	first, found := 0.0, false
	for i := range docs {
		if !strings.HasPrefix(filepath.Base(docs[i].Path), "per_request_") {
			continue
		}
		for request, err := range docs[i].Each(ctx, "") {
			var r struct {
				Start float64 `json:"start_time"`
			}
			if err != nil || json.Unmarshal(request, &r) != nil {
				break
			}
			if !found || r.Start < first {
				first, found = r.Start, true
			}
		}
	}
	return int64(first * 1e9), found
}

func monotonic() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return t.Nano()
}

// installedVersion finds what pip noted about the tool in its virtual environment; "" where there is none.
func installedVersion(tool, program string) string {
	name := strings.ReplaceAll(tool, "-", "_")
	if tool == load.VLLMBench {
		name = "vllm"
	}
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(program)), "lib", "python3*", "site-packages", name+"-*.dist-info"))
	if err != nil || len(paths) != 1 {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(paths[0]), name+"-"), ".dist-info")
}
