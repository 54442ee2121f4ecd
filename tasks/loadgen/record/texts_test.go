package record

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTextsOfTheFirstRequestsOfEachStage(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileTexts)
	texts, err := CreateTexts(path, 2, func(s string) string { return strings.ReplaceAll(s, "sk-1", "***") })
	if err != nil {
		t.Fatal(err)
	}
	for stage := range 2 {
		texts.Begin(Names{Prefix: "p"}, 0, stage)
		for i := range int64(5) {
			if texts.Take() {
				o := makeOutcome(i)
				o.Session, o.Text = i, []byte("an answer with sk-1")
				body := `{"prompt":"sk-1"}`
				if i == 1 {
					body = "no JSON sk-1"
				}
				texts.Add(o, []byte(body))
			}
		}
	}
	if err := texts.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(data), "sk-1") {
		t.Fatalf("%v: %s", err, data)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	var second, third Text
	if len(lines) != 4 || json.Unmarshal([]byte(lines[1]), &second) != nil ||
		json.Unmarshal([]byte(lines[2]), &third) != nil {
		t.Fatalf("%d lines", len(lines))
	}
	if second.ID != "p-1-0" || string(second.Request) != `"no JSON ***"` || third.Stage != 1 ||
		string(third.Request) != `{"prompt":"***"}` {
		t.Errorf("%+v, %+v", second, third)
	}
	var none *Texts
	if none.Begin(Names{}, 0, 0); none.Take() || none.Close() != nil {
		t.Error("texts that nobody asked for")
	}
}
