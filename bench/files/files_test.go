package main

import (
	"path/filepath"
	"testing"
	"time"

	"bflow.dev/bflow/bench/rig"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan/contract"
)

func TestTheMadeUpRunIsAWholeOne(t *testing.T) {
	dir := t.TempDir()
	if err := makeRun(t.Context(), dir, 300); err != nil {
		t.Fatal(err)
	}
	if _, rows, err := report.ReadRows(filepath.Join(report.MeasurementDir(dir, 0),
		contract.FileRequests)); err != nil || len(rows) != 300 {
		t.Errorf("%d requests, %v", len(rows), err)
	}
	if r, err := report.Read(dir); err != nil || len(r.Measurements) != 1 {
		t.Errorf("the report is %+v, %v", r, err)
	}
}

func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		name   string
		size   int64
		memory int64
		wall   time.Duration
		end    time.Duration
		want   string
	}{
		{"as fast and as small as it may be", 2 << 30, 256 << 20, 30 * time.Second, time.Second, "ok"},
		{"a small file tells no rate", 1 << 20, 1 << 20, time.Hour, 0, "ok"},
		{"a large one does", 2 << 30, 1 << 20, time.Minute, 0, "too slow"},
		{"too much memory", 1 << 20, 257 << 20, time.Second, 0, "too much memory"},
		{"it goes on after a signal", 1 << 20, 1 << 20, time.Second, 2 * time.Second, "ends late"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := measured{
				size: tt.size, most: mostMemory, end: tt.end, use: rig.Usage{PeakRSS: tt.memory, Ended: int64(tt.wall)},
			}
			if got := m.verdict(); got != tt.want {
				t.Errorf("the verdict is %q, want %q", got, tt.want)
			}
		})
	}
}
