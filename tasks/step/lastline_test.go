package step

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLastLine(t *testing.T) {
	dir := t.TempDir()
	for _, row := range []struct{ name, text, want string }{
		{"the last of several", "first\nlast\n", "last"},
		{"blank lines behind it do not count", "why\r\n \n\n", "why"},
		{"a line without its end", "half", "half"},
		{"a long one is cut", strings.Repeat("x", 9_000), strings.Repeat("x", longestLine)},
		{"no half character at the cut", strings.Repeat("x", longestLine-1) + "é", strings.Repeat("x", longestLine-1)},
		{"an empty file has none", "", ""},
	} {
		path := filepath.Join(dir, "log")
		if err := os.WriteFile(path, []byte(row.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := LastLine(path); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
	if got := LastLine(filepath.Join(dir, "missing")); got != "" {
		t.Errorf("a file that is not there: %q", got)
	}
}
