package inferenceperf

import (
	"bytes"
	"strings"
	"testing"

	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/report/tools/structtest"
)

const (
	recorded = "../../../report/imports/testdata/inference-perf-0.7.0"
	golden   = "../../../report/export/testdata/golden/inference-perf"
)

// lifecycleAgain reads a summary or a stage and returns what is written of it, and what was read.
func lifecycleAgain(t *testing.T, path string) (written, original []byte) {
	t.Helper()
	doc, original := structtest.Document(t, path, isLong)
	var l lifecycle
	if err := tools.Decode(*doc, &l); err != nil {
		t.Fatal(err)
	}
	return structtest.Written(t, tools.JSON("", l)), original
}

// requestsAgain is lifecycleAgain of the list of requests.
func requestsAgain(t *testing.T, path string) (written, original []byte) {
	t.Helper()
	doc, original := structtest.Document(t, path, isLong)
	return structtest.Written(t, tools.JSON("", tools.Elements[request](doc, ""))), original
}

func TestRecordedFilesAreWrittenAsTheyWereRead(t *testing.T) {
	for _, file := range []string{"/" + fileSummary, "/stage_0_lifecycle_metrics.json", "-failures/G500-" + fileSummary,
		"-failures/Gcut-" + fileSummary, "-failures/Gsse-" + fileSummary} {
		written, original := lifecycleAgain(t, recorded+file)
		structtest.Compare(t, original, written, nil)
	}
	written, original := requestsAgain(t, recorded+"/"+filePerRequest)
	structtest.Compare(t, original, written, nil)
}

// TestWhatWeWriteIsReadWhole: nothing of our own files is lost, to the byte, but for a null that means as little as
// a member that is absent.
func TestWhatWeWriteIsReadWhole(t *testing.T) {
	for file, again := range map[string]func(*testing.T, string) (written, original []byte){
		fileSummary: lifecycleAgain, filePerRequest: requestsAgain} {
		if written, original := again(t, golden+"/"+file); !bytes.Equal(written, original) {
			t.Errorf("%s\nwant\n%s", written, original)
		}
	}
	for _, file := range []string{"/stage_0_lifecycle_metrics.json", "/stage_1_lifecycle_metrics.json"} {
		written, original := lifecycleAgain(t, golden+file)
		structtest.Compare(t, original, written, structtest.Lost{`load_summary\.concurrency`: "it is null of a rate"})
	}
}

func TestMembersOfAnotherFormAreNotNeeded(t *testing.T) {
	for text, v := range map[string]any{
		`{"start_time": 1.5, "computed_metrics": {"request_latency": [1]}, "info": {"request_metrics": 3}}`: &request{},
		`{"successes": {"count": 3, "request_size_bytes": 5, "token_count_mismatches": {"a": 1}}}`:          &lifecycle{},
		`{"failures": {"count": 2, "by_label": {"500": {"count": 2, "messages": ["a text"]}}}}`:             &lifecycle{},
	} {
		if err := tools.Decode(tools.Document{Path: "a.json", Data: []byte(text)}, v); err != nil {
			t.Error(err)
		}
	}
	for text, v := range map[string]any{`{"start_time": "soon"}`: &request{},
		`{"successes": {"count": "many"}}`:                      &lifecycle{},
		`{"failures": {"by_label": {"500": {"count": "two"}}}}`: &lifecycle{}} {
		err := tools.Decode(tools.Document{Path: "a.json", Data: []byte(text)}, v)
		if err == nil || !strings.Contains(err.Error(), "a.json") {
			t.Errorf("%s is read: %v", text, err)
		}
	}
}
