package local

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// story is a journal with a record of most kinds.
func story(t *testing.T) ([]Record, []byte) {
	t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	records := []Record{
		{Kind: AttemptStarted, RunID: "r", Attempt: 1, PID: 7,
			Tasks: []Task{{Name: "a", State: Pending}, {Name: "b", State: Pending}, {Name: "c", State: Pending}}},
		{Kind: TaskStarted, Task: "a"},
		{Kind: RunStarted, Task: "a", TaskRun: "r-a"},
		{Kind: StepStarted, Task: "a", TaskRun: "r-a", Step: "s", PID: 8, Ticks: 9, Log: "local/logs/a.log"},
		{Kind: StepFinished, Task: "a", TaskRun: "r-a", Step: "s", State: Failed, ExitCode: 3},
		{Kind: RunRetried, Task: "a", TaskRun: "r-a"},
		{Kind: RunFinished, Task: "a", TaskRun: "r-a", State: Succeeded},
		{Kind: TaskFinished, Task: "a", State: Succeeded, Message: "line\nbreak \u2028 \x00"},
		{Kind: TaskSkipped, Task: "b", Reason: "when"},
		{Kind: CancelRequested, Reason: "x"},
		{Kind: FinallyStarted},
		{Kind: AttemptFinished, State: Cancelled, ExitCode: 130},
	}
	var all bytes.Buffer
	for i := range records {
		records[i].Time = at.Add(time.Duration(i) * time.Second)
		line, err := json.Marshal(records[i])
		if err != nil {
			t.Fatal(err)
		}
		all.Write(append(line, '\n'))
	}
	return records, all.Bytes()
}

func TestAJournalCutAtAnyByteIsReadUpToItsLastWholeLine(t *testing.T) {
	records, data := story(t)
	for cut := range len(data) + 1 {
		got, size, err := readJournal(bytes.NewReader(data[:cut]))
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		whole := bytes.Count(data[:cut], []byte("\n"))
		if diff := cmp.Diff(records[:whole], append([]Record{}, got...)); diff != "" {
			t.Fatalf("cut at %d (-want +got):\n%s", cut, diff)
		}
		if want := int64(bytes.LastIndexByte(data[:cut], '\n') + 1); size != want {
			t.Fatalf("cut at %d: size %d, want %d", cut, size, want)
		}
	}
}

func TestATornLineIsCutOffBeforeTheNextRecord(t *testing.T) {
	records, data := story(t)
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, dirState), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(journalPath(dir), data[:len(data)-5], 0o644); err != nil {
		t.Fatal(err)
	}
	j, got, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer j.close()
	if len(got) != len(records)-1 {
		t.Errorf("got %d records, want %d", len(got), len(records)-1)
	}
	if err := j.append(records[len(records)-1]); err != nil {
		t.Fatal(err)
	}
	if got := read(t, journalPath(dir)); got != string(data) {
		t.Errorf("after the repair:\n%s\nwant:\n%s", got, data)
	}
}

func TestADamagedLineIsAnErrorThatNamesIt(t *testing.T) {
	_, data := story(t)
	for _, row := range []struct{ name, line string }{
		{"no JSON", "garbage\n"}, {"a record without a kind", "{}\n"}, {"an empty line", "\n"}, {"another type", "[1]\n"},
	} {
		_, _, err := readJournal(strings.NewReader(string(data) + row.line))
		if err == nil || !strings.Contains(err.Error(), "line 13 is damaged") {
			t.Errorf("%s: %v", row.name, err)
		}
	}
}

func TestEachPrefixOfAJournalAddsUpToAState(t *testing.T) {
	records, _ := story(t)
	for n := range len(records) + 1 {
		live := replay(nil)
		for _, r := range records[:n] {
			live.apply(r)
		}
		if diff := cmp.Diff(live.snapshot(), replay(records[:n]).snapshot()); diff != "" {
			t.Errorf("after %d records:\n%s", n, diff)
		}
	}
}

func TestARunKilledAfterAnyRecordEndsAsIfItHadNotBeen(t *testing.T) {
	root, whole := hostRoot(t), filepath.Join(t.TempDir(), "run")
	o := testOptions(root, whole)
	o.Objects = parse(t, read(t, "testdata/run/results.input.yaml"))
	want, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter([]byte(read(t, journalPath(whole))), []byte("\n"))
	for n := 1; n < len(lines)-1; n++ {
		t.Run(fmt.Sprintf("%d records", n), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			torn := lines[n][:len(lines[n])/2]
			if err := os.WriteFile(journalPath(dir), append(bytes.Join(lines[:n], nil), torn...), 0o644); err != nil {
				t.Fatal(err)
			}
			got, err := Resume(t.Context(), testOptions(root, dir))
			if err != nil || got.State != Succeeded || got.Attempt != 2 {
				t.Fatalf("ended as %+v, %v", got, err)
			}
			if diff := cmp.Diff(want.Results, got.Results); diff != "" {
				t.Errorf("results (-whole +resumed):\n%s", diff)
			}
			finished := bytes.Count(bytes.Join(lines[:n], nil), []byte(`"kind":"task_finished"`))
			for _, task := range got.Tasks {
				if task.Attempt == 1 {
					finished--
				}
			}
			if finished > 1 || finished < 0 { // the finally task runs again though it had finished
				t.Errorf("%d finished tasks were not kept", finished)
			}
		})
	}
}

// FuzzReadJournal checks that no content of the file makes the reader fail other than by an error, that what it reads
// is a prefix of the file, and that reading that prefix again gives the same.
func FuzzReadJournal(f *testing.F) {
	f.Add([]byte(""))
	f.Add([]byte("{\"kind\":\"task_started\",\"task\":\"a\"}\n{\"ki"))
	f.Add([]byte("{\"kind\":\"attempt_started\",\"tasks\":[{\"name\":\"a\"}]}\n{\"kind\":\"task_kept\"," +
		"\"task\":\"a\",\"tasks\":[]}\n"))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		records, size, err := readJournal(bytes.NewReader(data))
		if err != nil {
			return
		}
		replay(records).snapshot()
		unfinishedSteps(records)
		again, sizeAgain, err := readJournal(bytes.NewReader(data[:size]))
		if err != nil || sizeAgain != size || len(again) != len(records) {
			t.Errorf("the prefix of %d bytes reads differently: %v", size, err)
		}
	})
}
