package guidellm

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/report/tools/structtest"
)

const recorded = "../../../report/imports/testdata/"

// again2 reads a report in schema 2 and returns what is written of it, and what was read.
func again2(t *testing.T, path string) (written, original []byte) {
	t.Helper()
	doc, original := structtest.Document(t, path, isLong)
	var r report2
	if err := tools.Decode(*doc, &r); err != nil {
		t.Fatal(err)
	}
	for i := range r.Benchmarks {
		r.Benchmarks[i].Requests.bind(requestLists{doc: doc, path: fmt.Sprintf("benchmarks[%d].requests.", i)})
	}
	return structtest.Written(t, tools.JSON("benchmarks.json", r)), original
}

func again031(t *testing.T, path string) (written, original []byte) {
	t.Helper()
	doc, original := structtest.Document(t, path, isLong)
	var r report031
	if err := tools.Decode(*doc, &r); err != nil {
		t.Fatal(err)
	}
	for i := range r.Benchmarks {
		r.Benchmarks[i].Requests.bind(requestLists{doc: doc, path: fmt.Sprintf("benchmarks[%d].requests.", i)})
	}
	return structtest.Written(t, tools.JSON("benchmarks.json", r)), original
}

// TestARecordedReportIsWrittenAsItWasRead: a struct that forgets a member of the tool, or gives it another type, fails.
func TestARecordedReportIsWrittenAsItWasRead(t *testing.T) {
	const row = `benchmarks\[\]\.requests\.(successful|errored)\[\]\.`
	lost := structtest.Lost{
		`benchmarks\[\]\.config\.environment\..*`: "free: each class of the tool's own has members of its own",

		row + `(output|request_args|response_id|info\.traceback)`:            "texts of people, which bflow never keeps",
		row + `(input_metrics|output_metrics)\.(text_words|text_characters)`: "bflow counts tokens alone",
	}
	for _, name := range []string{"benchmarks", "G500-benchmarks", "Gcut-benchmarks", "Gsse-benchmarks"} {
		t.Run("0.8.1 "+name, func(t *testing.T) {
			written, original := again2(t, recorded+"guidellm-0.8.1/"+name+".json")
			structtest.Compare(t, original, written, lost)
		})
	}
	t.Run("0.3.1", func(t *testing.T) {
		written, original := again031(t, recorded+"guidellm-0.3.1/ok-benchmarks.json")
		structtest.Compare(t, original, written, structtest.Lost{
			`benchmarks\[\]\.args\.profile\.strategy_types`: "it says again what the strategies of the benchmarks say",
		})
	})
}

// TestMembersThatOursLeaveNullAreKept: replays of traces, media, calls of tools and web sockets have them in every
// request.
func TestMembersThatOursLeaveNullAreKept(t *testing.T) {
	write := func(r row2) []byte { return structtest.Written(t, tools.JSONLines("", tools.StreamOf([]row2{r}))) }
	empty := write(row2{})
	for _, member := range []string{"relative_timestamp", "predecessor_completed", "last_request_sent",
		"avg_round_trip_time_ms", "audio_seconds", "image_tokens", "tool_call_count"} {
		t.Run(member, func(t *testing.T) {
			original := bytes.Replace(empty, []byte(`"`+member+`":null`), []byte(`"`+member+`":7`), 1)
			var r row2
			err := tools.Decode(tools.Document{Path: "row.json", Data: original}, &r)
			if written := write(r); err != nil || bytes.Equal(original, empty) || !bytes.Equal(written, original) {
				t.Errorf("%v:\n%s\nwant\n%s", err, written, original)
			}
		})
	}
}

// TestWhatWeWriteIsReadWhole: nothing of our own files is lost, to the byte.
func TestWhatWeWriteIsReadWhole(t *testing.T) {
	for format, again := range map[string]func(*testing.T, string) (written, original []byte){
		"guidellm": again2, "guidellm-0.3.1": again031,
	} {
		t.Run(format, func(t *testing.T) {
			path := "../../../report/export/testdata/golden/" + format + "/benchmarks.json"
			written, _ := again(t, path)
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(written, want) {
				structtest.Compare(t, want, written, nil)
				t.Error("the bytes differ")
			}
		})
	}
}
