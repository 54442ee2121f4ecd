package history

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestLogsOfControllers judges the logs of real controllers, of all hubs that use the same targets:
//
//	BFLOW_HISTORY='hub-a.log:hub-b.log' go test ./queue/lock/history -run Logs -v
func TestLogsOfControllers(t *testing.T) {
	files := os.Getenv("BFLOW_HISTORY")
	if files == "" {
		t.Skip("BFLOW_HISTORY names no logs of controllers")
	}
	var events []Event
	for _, name := range filepath.SplitList(files) {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		more, err := Read(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, more...)
	}
	for _, err := range Check(events, Options{Skew: 2 * time.Minute, Open: true}) {
		t.Error(err)
	}
	if t.Logf("%d events", len(events)); len(events) == 0 {
		t.Error("there is no history in them")
	}
}
