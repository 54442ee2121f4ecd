package page_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/page"
	"bflow.dev/bflow/report/reporttest"
)

// browser returns the path of a Chromium, or skips; with BFLOW_REQUIRE_CHROMIUM=1 it fails instead.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("BFLOW_REQUIRE_CHROMIUM") == "1" {
		t.Fatal("no Chromium on this machine, and BFLOW_REQUIRE_CHROMIUM=1 asks for one")
	}
	t.Skip("no Chromium on this machine: the page is not opened in a browser")
	return ""
}

// opened loads a file in a headless browser and returns the DOM after loading and what went to the console.
func opened(t *testing.T, path string, args ...string) (dom, console string) {
	t.Helper()
	args = append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--user-data-dir=" + t.TempDir(),
		"--enable-logging=stderr", "--v=0",
		"--dump-dom"}, args...)
	cmd := exec.CommandContext(eventually.Context(t), browser(t), append(args, "file://"+path)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("running Chromium: %v\n%s", err, errs.String())
	}
	var lines []string
	for line := range strings.Lines(errs.String()) {
		if strings.Contains(line, "CONSOLE") {
			lines = append(lines, line)
		}
	}
	return out.String(), strings.Join(lines, "")
}

func TestABrowserShowsTheFiguresAndItsConsoleIsSilent(t *testing.T) {
	r := built(t, reporttest.Run{SLO: slo()})
	dom, console := opened(t, save(t, written(t, r)), "--window-size=390,844")
	if console != "" {
		t.Errorf("console: %s", console)
	}
	for _, want := range append(figures(report.Headline(r)), `<svg class="chart"`, "</html>") {
		if !strings.Contains(dom, want) {
			t.Errorf("the page in the browser lacks %q", want)
		}
	}
}

func TestABrowserShowsTheMatrix(t *testing.T) {
	r := built(t, reporttest.Run{Failing: 0.02})
	var b bytes.Buffer
	if err := page.Matrix(&b, r, r); err != nil {
		t.Fatal(err)
	}
	dom, console := opened(t, save(t, b.String()), "--force-dark-mode")
	if console != "" || !strings.Contains(dom, "Curves per point") {
		t.Errorf("console: %s", console)
	}
}

func TestTheConsoleIsHeard(t *testing.T) {
	_, console := opened(t, save(t, "<!doctype html><script>console.error('heard')</script>"))
	if !strings.Contains(console, "heard") {
		t.Error("an error on the console goes unnoticed")
	}
}
