package problem

import "testing"

func TestUnfilled(t *testing.T) {
	for _, row := range []struct {
		name, text string
		let        bool
		want       string
	}{
		{"a token of a template in an address", "http://REPLACE_ENV_LLMDBENCH_HARNESS_STACK_ENDPOINT_URL/v1", true,
			"nothing has filled in REPLACE_ENV_LLMDBENCH_HARNESS_STACK_ENDPOINT_URL: write its value there"},
		{"a variable", "a-${CONCURRENCY}-b", false, "nothing has filled in ${CONCURRENCY}: write its value there"},
		{"a variable that a shell fills in", "${HOME}/x", true, ""},
		{"what Kubernetes and Prometheus fill in", "$(POD_IP) $namespace ${} $5", false, ""},
		{"the beginning of a token alone", "REPLACE_ENV_", false, ""},
		{"a text", "qwen", false, ""},
	} {
		if got := Unfilled(row.text, row.let); got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}
