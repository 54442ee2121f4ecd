package trace

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"bflow.dev/bflow/runplan"
)

// fuzz reads what is mutated from the files of testdata. What can be read must hang together.
func fuzz(f *testing.F, format string, extra ...string) {
	names, err := filepath.Glob("testdata/*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, int64(0), int64(0), 1.0)
	}
	for _, s := range extra {
		f.Add([]byte(s), int64(1e6), int64(5e9), 0.5)
	}
	f.Fuzz(func(t *testing.T, data []byte, from, to int64, scale float64) {
		plan := runplan.Trace{
			Format: format, From: runplan.Duration(from), To: runplan.Duration(to), TimeScale: scale,
			MaxOutput: 100, Repeat: 2,
		}
		x, err := Read(bytes.NewReader(data), plan)
		if err != nil {
			return
		}
		consistent(t, x)
	})
}

func consistent(t *testing.T, x *Trace) {
	before, seen := int64(0), 0
	var buf []uint64
	for i := range x.Sessions() / int64(x.Plays) {
		turns, start := x.Session(i)
		if start != 0 || len(turns) == 0 {
			t.Fatalf("session %d of the first play starts at %d with %d turns", i, start, len(turns))
		}
		for j := range turns {
			r := &turns[j]
			if r.Session != int32(i) || r.Turn != int32(j) || r.Idle < 0 || r.At < Absent || r.In < Absent ||
				r.In == 0 || r.Out > 100 || r.Out == 0 {
				t.Fatalf("session %d turn %d: %+v", i, j, *r)
			}
			kind, text := x.Content(r)
			buf = x.Blocks(buf, r)
			if kind == KindLengths && r.In == Absent || kind != KindLengths && (len(text) == 0 || len(buf) > 0) ||
				len(buf) > 0 && (int(r.In)+BlockTokens-1)/BlockTokens != len(buf) {
				t.Fatalf("session %d turn %d: %s, %d bytes, %d blocks for %d tokens", i, j, kind, len(text), len(buf), r.In)
			}
			seen++
		}
		if turns[0].At != Absent && turns[0].At < before {
			t.Fatalf("session %d starts at %d, after one at %d", i, turns[0].At, before)
		}
		before = max(before, turns[0].At)
	}
	if seen != len(x.Requests()) {
		t.Fatalf("%d of %d requests belong to a session", seen, len(x.Requests()))
	}
}

func FuzzJSONLines(f *testing.F) {
	fuzz(f, runplan.TraceMooncake, `{"timestamp":1e2,"input_length":600,"hash_ids":[3,1]}`,
		`{"text_input":"\ud83d\ude00","delay":0.1,"session_id":"a"}`)
}

func FuzzTraceSynthetic(f *testing.F) {
	fuzz(f, runplan.TraceSynthetic, `{"timestamp":0.25,"input_length":600,"output_length":1}`)
}

func FuzzAzure(f *testing.F) {
	fuzz(f, runplan.TraceAzure,
		"timestamp,contexttokens,generatedtokens\n2024-05-10T00:00:00Z,1,2\n2024-05-10T00:00:01Z,3,4\n")
}
