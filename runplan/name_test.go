package runplan

import (
	"fmt"
	"strings"
	"testing"
)

func TestBase(t *testing.T) {
	for _, row := range []struct{ name, raw, want string }{
		{"slash becomes a dash and a dot goes", "Acme/Tiny.1B", "acme-tiny1b"},
		{"dashes at the ends go", "-a-", "a"},
		{"any other character becomes one dash", "my  _experiment!", "my-experiment"},
		{"nothing left is x", "___", "x"},
		{"a plain name stays", "tiny-docs", "tiny-docs"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := Base(row.raw); got != row.want {
				t.Errorf("Base(%q) = %q, want %q", row.raw, got, row.want)
			}
		})
	}
}

func TestPointName(t *testing.T) {
	long := strings.Repeat("long-", 20)
	for _, row := range []struct {
		name, raw     string
		index, repeat int
		want          string
	}{
		{"a plain run has the bare name", "tiny-docs", 0, 0, "tiny-docs"},
		{"a point has its index", "tiny-docs", 12, 0, "tiny-docs-m12"},
		{"a repeat comes after the index", "tiny-docs", 12, 3, "tiny-docs-m12-r3"},
		{"only the base is cut", long, 12, 3, "long-long-long-long-long-" + short(long) + "-m12-r3"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := PointName(row.raw, row.index, row.repeat); got != row.want || len(got) > MaxName {
				t.Errorf("PointName = %q (%d characters), want %q", got, len(got), row.want)
			}
		})
	}
}

func TestPointsOfALongNameNeverCollide(t *testing.T) {
	seen := map[string]bool{}
	raw := strings.Repeat("night.ly/", 30)
	for index := 1; index <= 400; index++ {
		for repeat := range 3 {
			p := &RunPlan{Experiment: raw, Index: index, Repeat: repeat, Axes: []AxisValue{{}}}
			for _, name := range []string{PointName(raw, index, repeat), Release(p, "same-run")} {
				if seen[name] {
					t.Fatalf("%q stands for two points", name)
				}
				seen[name] = true
			}
		}
	}
}

func FuzzRelease(f *testing.F) {
	f.Add("tiny-docs", "tiny-docs-20260101-abcde", 0, 0)
	f.Add("", "", 1, 1)
	f.Add("Ä/ö_.-", "run", 100000, 99)
	f.Add(strings.Repeat("9-", 60), "run", 99999999, 9999)
	f.Fuzz(func(t *testing.T, raw, runID string, index, repeat int) {
		index, repeat = abs(index)%1e8, abs(repeat)%1e6
		p := &RunPlan{Experiment: raw, Index: index, Repeat: repeat, Axes: []AxisValue{{}}}
		release := Release(p, runID)
		if !isLabel(release) || len(release) > MaxRelease {
			t.Errorf("Release(%q, %q) = %q, %d characters", raw, runID, release, len(release))
		}
		if again := Release(p, runID+"x"); again == release {
			t.Errorf("runs %q and %q share release %q", runID, runID+"x", release)
		}
		if name := PointName(raw, index, repeat); !isLabel(name) || len(name) > MaxName {
			t.Errorf("PointName(%q, %d, %d) = %q", raw, index, repeat, name)
		}
	})
}

func abs(i int) int { return max(i, -(i + 1)) }

func ExampleRelease() {
	p := &RunPlan{Experiment: "tiny-docs", Index: 2, Axes: []AxisValue{{Path: "model.name", Value: "acme/tiny-1b"}}}
	fmt.Println(Release(p, "tiny-docs-m2-20260101-abcde"))
	// Output: tiny-docs-m2-0aaf56b2
}
