package spec

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"bflow.dev/bflow/internal/scalar"
)

// A hostile file of the largest size is refused in moments, with a bounded number of problems.
func TestHostileFilesEndSoon(t *testing.T) {
	spec := header + "spec:\n"
	for name, text := range map[string]string{
		"many unknown keys": spec + numbered("  %:\n", 4900, strings.Repeat("x", 200)),
		"many wrong entries": spec + "  overrides: {runtime: {tolerations: [" + strings.Repeat("{a: b}, ", 999) +
			"{}]}}\n",
		"deep lists":              spec + "  a: " + strings.Repeat("[", 1<<19),
		"deep mappings":           spec + "  a: " + strings.Repeat("{a: ", 1<<17),
		"aliases that double":     spec + "  a0: &a0 [x, x]\n  all: {z: 1" + doubling(2000) + "}\n",
		"a key of half a MiB":     spec + "  model_overrides: {? " + strings.Repeat("k", 1<<19) + " : {a: 1, b: 2}}\n",
		"a word of half a MiB":    spec + "  tool_runner: " + strings.Repeat("k", 1<<19) + "\n",
		"a profile of half a MiB": spec + "  deployment_profile: " + strings.Repeat("k", 1<<19) + "\n",
		"many documents":          strings.Repeat("---\na: 1\n", 1<<16),
	} {
		t.Run(name, func(t *testing.T) {
			start := used(t)
			_, found := LoadBytes(Options{Shipped: shippedFS()}, "t.yaml", []byte(text))
			took := used(t) - start
			if took > 20*time.Second {
				t.Errorf("took %v of a processor", took)
			}
			if n := len(found.Error()); found.Err() == nil || n > 1<<24 {
				t.Errorf("want an error of a bounded size, got %d bytes", n)
			}
			t.Logf("%v, %d problems, %d bytes", took, len(found), len(found.Error()))
		})
	}
}

// used is the processor time of this process: others take nothing from it, however busy the host is.
func used(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// numbered repeats a line n times, % being prefix and a number.
func numbered(line string, n int, prefix string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Replace(line, "%", prefix+scalar.Plain(float64(i)), 1))
	}
	return b.String()
}
