package aiperf

import (
	"bytes"
	"testing"

	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/report/tools/structtest"
)

const (
	recorded = "../../../report/imports/testdata/aiperf-0.13.0"
	golden   = "../../../report/export/testdata/golden/aiperf/0-1-rate-4"
)

// summaryAgain reads a summary and returns what is written of it, and what was read.
func summaryAgain(t *testing.T, path string) (written, original []byte) {
	t.Helper()
	doc, original := structtest.Document(t, path, nil)
	s, err := readSummaryOf(*doc)
	if err != nil {
		t.Fatal(err)
	}
	return structtest.Written(t, tools.JSON("", s)), original
}

// linesAgain reads requests and returns what is written of them, and what was read.
func linesAgain(t *testing.T, path string) (written, original []byte) {
	t.Helper()
	doc, original := structtest.Document(t, path, nil)
	return structtest.Written(t, tools.JSONLines("", tools.Values[line](doc))), original
}

func TestARecordedSummaryIsWrittenAsItWasRead(t *testing.T) {
	written, original := summaryAgain(t, recorded+"/"+fileJSON)
	const setup = "artifacts|tokenizer|gpu_telemetry|server_metrics|network_latency|otel|mlflow|wandb|runtime"
	structtest.Compare(t, original, written, structtest.Lost{
		"telemetry_data":                "of GPUs, which bflow measures itself",
		`run_info\.cli_command`:         "holds what a person types, which may be secret",
		`input_config\.(` + setup + `)`: "how the tool itself was set up",
		`input_config\.endpoint\.extra`: "what the tool adds to its requests; plans of ours hold it as their body",
	})
}

func TestRecordedRequestsAreWrittenAsTheyWereRead(t *testing.T) {
	for path, lost := range map[string]structtest.Lost{
		recorded + "/" + fileRows:               nil,
		recorded + "-failures/G500-" + fileRows: nil,
		recorded + "-failures/Gcut-" + fileRows: {`error\.cause(_chain)?`: "its type and message say the same"},
		recorded + "-failures/Gsse-" + fileRows: nil,
	} {
		written, original := linesAgain(t, path)
		got, want := bytes.Split(written, []byte("\n")), bytes.Split(bytes.TrimSpace(original), []byte("\n"))
		if len(got) != len(want)+1 { // a line feed ends the last one
			t.Fatalf("%s: %d lines of %d", path, len(got)-1, len(want))
		}
		for i, one := range want {
			structtest.Compare(t, one, got[i], lost)
		}
	}
}

// TestWhatWeWriteIsReadWhole: nothing of our own files is lost, to the byte.
func TestWhatWeWriteIsReadWhole(t *testing.T) {
	for file, again := range map[string]func(*testing.T, string) (written, original []byte){
		fileJSON: summaryAgain, fileRows: linesAgain} {
		if written, original := again(t, golden+"/"+file); !bytes.Equal(written, original) {
			t.Errorf("%s\nwant\n%s", written, original)
		}
	}
}

func TestADataSetOfAnotherFormIsNotNeeded(t *testing.T) {
	const text = `{"aiperf_version": "1", "input_config":
		{"datasets": [{"prompts": {"isl": 64}}], "models": {"items": [{"name": "m"}]}}}`
	s, err := readSummaryOf(tools.Document{Path: fileJSON, Data: []byte(text)})
	if err != nil || s.Input.Models.Items[0].Name != "m" {
		t.Errorf("%+v, %v", s, err)
	}
}
