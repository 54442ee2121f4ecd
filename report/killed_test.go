package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"bflow.dev/bflow/runplan/contract"
)

func TestALoadThatWasKilledSaysHowAndWhere(t *testing.T) {
	const (
		cut     = `{"schema":"bflow.loadgen/1","attempt":2}`
		limited = `{"schema":"bflow.loadgen/1","attempt":2,"memory_limit_bytes":4294967296}`
		second  = `{"sample":0,"stage":1,"stages":3,"name":"ramp","elapsed_s":37.4}`
		stage   = `{"schema":"bflow.stages/1","sample":0,"stage":1,"planned":{"name":"ramp"}}` + "\n"
	)
	for _, row := range []struct {
		name                           string
		reason, load, progress, stages string
		want                           string // "" = the result stays as it is
	}{
		{"memory of the pod ran out", contract.ReasonStepOOM, limited, second, "",
			`load-gen was killed: out of memory (limit 4Gi) in stage "ramp" after 37 s; send fewer requests at once, ` +
				`ask for shorter answers, or give it more memory`},
		{"memory of the host ran out", contract.ReasonStepOOM, cut, second, "",
			`load-gen was killed: out of memory in stage "ramp" after 37 s; send fewer requests at once, ask for ` +
				`shorter answers, or give it more memory`},
		{"a signal, and nobody knows from whom", contract.ReasonStepKilled, limited, second, "",
			`load-gen was killed (signal 9) in stage "ramp" after 37 s; somebody did it, or memory ran out`},
		{"between two stages", contract.ReasonStepKilled, cut, second, stage,
			`load-gen was killed (signal 9) after stage "ramp"; somebody did it, or memory ran out`},
		{"before the first second", contract.ReasonPodEvicted, cut, "", "",
			`load-gen was killed: its pod was evicted before its first stage; its node was short of memory or ` +
				`disk; run it again`},
		{"a stage without a name", contract.ReasonStepFailed, cut, `{"stages":1,"elapsed_s":2}`, "",
			`load-gen ended without a word in stage "0" after 2 s; its log may say more`},
		{"it was cancelled", "TaskRunCancelled", cut, second, "", ""},
		{"it has not run", "", cut, second, "", ""},
		{"it said why itself", contract.ReasonStepFailed,
			`{"schema":"bflow.loadgen/1","attempt":2,"error":"no such model"}`, second, "", ""},
		{"the result is that of an attempt before", contract.ReasonStepOOM,
			`{"schema":"bflow.loadgen/1","attempt":1}`, second, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			folder := MeasurementDir(dir, 0)
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{contract.FileLoadGen: row.load, FileProgress: row.progress,
				contract.FileStages: row.stages} {
				if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			marked := false
			if kill, ok := KillOf(row.reason); ok {
				var err error
				if marked, err = MarkKilled(dir, 0, 2, kill); err != nil {
					t.Fatal(err)
				}
			}
			text, err := os.ReadFile(filepath.Join(folder, contract.FileLoadGen))
			if err != nil {
				t.Fatal(err)
			}
			l := decoded(t, text)
			if row.want == "" && (marked || string(text) != row.load) ||
				row.want != "" && (!marked || !l.Killed || !l.Interrupted || l.Error != row.want) {
				t.Errorf("marked: %v, %s\nwant %s", marked, text, row.want)
			}
		})
	}
}

func TestSizesAreWrittenAsKubernetesDoes(t *testing.T) {
	for bytes, want := range map[int64]string{4 << 30: "4Gi", 512 << 20: "512Mi", 1536 << 20: "1536Mi", 4096: "4Ki",
		1000: "1000", 1 << 50: "1024Ti"} {
		if got := quantity(bytes); got != want {
			t.Errorf("%d bytes are %q, want %q", bytes, got, want)
		}
	}
}

func decoded(t *testing.T, text []byte) (l LoadGen) {
	t.Helper()
	if err := json.Unmarshal(text, &l); err != nil {
		t.Fatal(err)
	}
	return l
}
