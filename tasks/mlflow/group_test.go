package mlflow

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

// TestTheRunOfAMatrixIsMadeOnce: a second try of the task finds that of the first.
func TestTheRunOfAMatrixIsMadeOnce(t *testing.T) {
	made := 0
	var tags []Pair
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Filter string
			Tags   []Pair
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		run := `{"info":{"run_id":"r1","experiment_id":"7","status":"RUNNING"}}`
		switch strings.TrimPrefix(r.URL.Path, api) {
		case "experiments/get-by-name":
			_, _ = w.Write([]byte(`{"experiment":{"experiment_id":"7","lifecycle_stage":"active"}}`))
		case "runs/search":
			found := ""
			if slices.ContainsFunc(tags,
				func(p Pair) bool { return p.Key == RunKeyTag && strings.Contains(body.Filter, "'"+p.Value+"'") }) {
				found = run
			}
			_, _ = w.Write([]byte(`{"runs":[` + found + `]}`))
		case "runs/create":
			made, tags = made+1, body.Tags
			_, _ = w.Write([]byte(`{"run":` + run + `}`))
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	c := &Client{Base: srv.URL, HTTP: srv.Client(), Wait: sleep}
	g := Group{Experiment: "exp", Name: "tiny-1", ID: "uid-1", Start: time.Unix(1, 0)}
	for range 2 {
		info, err := c.Begin(t.Context(), g)
		if err != nil || info.RunID != "r1" {
			t.Fatalf("%+v, %v", info, err)
		}
	}
	if made != 1 {
		t.Errorf("%d runs were made", made)
	}
	if other := (Group{Name: "tiny-1", ID: "uid-2"}); other.key() == g.key() {
		t.Error("another matrix of the same name has the same run")
	}
}

func TestARunOfAMatrixSaysWhatItBelongsBelow(t *testing.T) {
	plan := &runplan.RunPlan{Measurements: []runplan.Measurement{{}}}
	for _, parent := range []string{"", "r1"} {
		found := ""
		for _, p := range tags(Options{Parent: parent}, plan, &report.Verdict{}) {
			if p.Key == ParentTag {
				found = p.Value
			}
		}
		if found != parent {
			t.Errorf("below %q, want %q", found, parent)
		}
	}
}
