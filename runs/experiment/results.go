package experiment

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/internal/durable"
)

// Names returns how the runs of a PipelineRun are called: always alike, so that a second try of its task finds those of
// the first. They look as those that bflow run gives.
func Names(uid string, created time.Time) func(base string) string {
	n := 0
	return func(base string) string {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", uid, n))
		n++
		suffix := strings.ToLower(base32.HexEncoding.EncodeToString(sum[:]))[:5]
		return fmt.Sprintf("%s-%s-%s", base, created.UTC().Format("20060102-150405"), suffix)
	}
}

// Results are the files in which a step leaves its results.
type Results struct{ Verdict, Runs, PlanHashes string }

// All results of a step together, and what Tekton writes beside them, must stay below 4 KiB.
const (
	longestNames  = 1500
	longestHashes = 1000
	shortHash     = 12
)

// Begin writes which runs there are; their verdict is empty until End.
func (r Results) Begin(names, hashes []string) error {
	hashes = slices.Clone(hashes)
	if len(strings.Join(hashes, ",")) > longestHashes {
		for i, h := range hashes {
			hashes[i] = h[:min(len(h), shortHash)]
		}
	}
	for path, text := range map[string]string{r.Runs: list(names, longestNames), r.PlanHashes: list(hashes,
		longestHashes), r.Verdict: ""} {
		if err := write(path, text); err != nil {
			return err
		}
	}
	return nil
}

// End writes the verdict.
func (r Results) End(verdict string) error { return write(r.Verdict, verdict) }

func write(path, text string) error {
	if path == "" {
		return nil
	}
	if err := durable.Replace(path, []byte(text)); err != nil {
		return fmt.Errorf("writing a result: %w", err)
	}
	return nil
}

// list joins names, as many as fit; of the rest it says how many there are.
func list(names []string, longest int) string {
	text := strings.Join(names, ",")
	for keep := len(names) - 1; len(text) > longest && keep > 0; keep-- {
		text = fmt.Sprintf("%s,... and %d more", strings.Join(names[:keep], ","), len(names)-keep)
	}
	return text
}
