package tools_test

import (
	"testing"

	"bflow.dev/bflow/tasks/report/tools"
)

func FuzzScrub(f *testing.F) {
	for _, seed := range []string{`{"headers":{"Authorization":"Bearer x"},"n":1.50}`, "{\"a\":1}\n{\"api_key\":\"k\"}\n", `{"request_args":"{\"headers\":{\"a\":\"b\"}}"}`, "api_key: x\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		once, _ := tools.Scrub(data)
		if twice, n := tools.Scrub(once); n != 0 || string(twice) != string(once) {
			t.Errorf("scrubbing %q twice takes out %d more: %q, %q", data, n, once, twice)
		}
	})
}
