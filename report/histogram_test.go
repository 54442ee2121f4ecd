package report

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHistogramsRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "histograms.bin")
	exact, condensed := NewDistribution("ms"), NewDistribution("count")
	for i := range 5000 {
		exact.Add(float64(i) / 7)
		condensed.Add(float64(i) / 7)
	}
	condensed.Condense()
	w, err := CreateHistograms(path)
	if err != nil {
		t.Fatal(err)
	}
	keys := []DistributionKey{{Metric: "ttft"}, {Sample: 1, Stage: 2, Metric: "concurrency"}, {Metric: "empty"}}
	for i, d := range []*Distribution{exact, condensed, NewDistribution("ms")} {
		if err := w.Write(keys[i], d); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []int64{5000, 5000} {
		if d, err := w.Read(keys[i]); err != nil || d.N() != want {
			t.Errorf("%v read back: %v", keys[i], err)
		}
	}
	if d, err := w.Read(keys[2]); d != nil || err != nil {
		t.Errorf("an empty distribution was read back: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := ReadHistograms(path)
	if err != nil || len(got) != 2 {
		t.Fatalf("read %d distributions: %v", len(got), err)
	}
	for i, want := range []*Distribution{exact, condensed} {
		wantMetric, _ := want.Metric()
		gotMetric, _ := got[keys[i]].Metric()
		if diff := cmp.Diff(wantMetric, gotMetric); diff != "" {
			t.Errorf("%v (-want +got):\n%s", keys[i], diff)
		}
		if gotExact, wantExact := got[keys[i]].hist == nil, want.hist == nil; gotExact != wantExact {
			t.Errorf("%v: exact %v, want %v", keys[i], gotExact, wantExact)
		}
	}
}

func TestDamagedHistogramsAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "histograms.bin")
	w, err := CreateHistograms(path)
	if err != nil {
		t.Fatal(err)
	}
	d := NewDistribution("ms")
	d.Add(1)
	if err := w.Write(DistributionKey{Metric: "itl"}, d); err != nil {
		t.Fatal(err)
	}
	w.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := append([]byte(nil), whole...)
	flipped[len(flipped)-1] ^= 1
	tests := []struct {
		name string
		data []byte
	}{
		{name: "a file cut in the middle of a record", data: whole[:len(whole)-3]},
		{name: "a flipped bit", data: flipped},
		{name: "a file of another kind", data: []byte("hello")},
		{name: "an empty file", data: nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.WriteFile(path, tt.data, 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := ReadHistograms(path); err == nil {
				t.Error("no error")
			}
		})
	}
}
