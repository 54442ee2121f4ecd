package experiment

import (
	"fmt"
	"strings"

	"bflow.dev/bflow/report/brief"
)

// Summary says in a few lines what a run came to.
func Summary(b *brief.Brief) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %s", b.Run, b.Verdict)
	if b.Verdict == "" {
		fmt.Fprintf(&out, "%s", b.Error)
	}
	fmt.Fprintln(&out)
	for _, why := range b.Reasons {
		fmt.Fprintf(&out, "  %s\n", why)
	}
	for _, s := range b.Stages {
		fmt.Fprintf(&out, "  %s: %d requests, %d ok", s.Name, s.Requests, s.OK)
		for _, metric := range []string{"ttft", "itl", "e2e"} {
			f, ok := s.Metrics[metric]
			if !ok || f.P50 == nil || f.P99 == nil {
				continue
			}
			fmt.Fprintf(&out, ", %s p50 %.1f p99 %.1f %s", metric, *f.P50, *f.P99, f.Unit)
		}
		fmt.Fprintln(&out)
	}
	for name, link := range b.Links {
		fmt.Fprintf(&out, "  %s: %s\n", name, link)
	}
	return out.String()
}
