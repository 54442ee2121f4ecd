package guidellm

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/report/tools/structtest"
)

const recorded = "../../imports/testdata/"

// again2 reads a report in schema 2 and returns what is written of it, and what was read.
func again2(t *testing.T, path string) (written, original []byte) {
	t.Helper()
	doc, original := structtest.Document(t, path)
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
	doc, original := structtest.Document(t, path)
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

// TestWhatWeWriteIsReadWhole: nothing of our own files is lost, to the byte.
func TestWhatWeWriteIsReadWhole(t *testing.T) {
	for format, again := range map[string]func(*testing.T, string) (written, original []byte){
		"guidellm": again2, "guidellm-0.3.1": again031,
	} {
		t.Run(format, func(t *testing.T) {
			path := "../../export/testdata/golden/" + format + "/benchmarks.json"
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
