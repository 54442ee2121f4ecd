package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPagesAreUpToDate(t *testing.T) {
	dir := t.TempDir()
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		want, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join("../../docs", e.Name())); err != nil || string(got) != string(want) {
			t.Errorf("docs/%s is not up to date (%v): run make generate", e.Name(), err)
		}
	}
}
