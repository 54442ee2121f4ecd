package progress

import (
	"strings"
	"testing"

	"bflow.dev/bflow/report"
)

func TestBarFitsTheTerminal(t *testing.T) {
	p := report.Progress{
		Stage: 1, Stages: 3, Name: "rate-20", Measure: true, ElapsedS: 1, ExpectedS: 2,
		Rate: 17.9, InFlight: 3, ETAS: 9,
	}
	tests := []struct {
		name  string
		width int
		want  string
	}{
		{name: "a wide terminal has a whole bar", width: 120,
			want: "    [############............] stage 2/3 rate-20  1/2 s  17.9 req/s  3 in flight  0 errors  ETA 9s"},
		{name: "a narrow one a short bar", width: 79,
			want: "    [###..] stage 2/3 rate-20  1/2 s  17.9 req/s  3 in flight  0 errors  ETA 9s"},
		{name: "a very narrow one only what fits of the numbers", width: 40,
			want: "    stage 2/3 rate-20  1/2 s  17.9 req/s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := bar(p, tt.width)
			if strings.TrimRight(got, " ") != tt.want || len(got) > tt.width {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestReason(t *testing.T) {
	tests := []struct{ name, message, want string }{
		{name: "the last words of a step",
			message: `task "provision": step "provision" exited with code 3: no way there`, want: "no way there"},
		{name: "a message without them stays", message: "the run was cancelled", want: "the run was cancelled"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Reason(tt.message); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestANameOfSomebodyElseMovesNoCursor(t *testing.T) {
	if got := outcome(report.Progress{Stages: 1, Name: "a\x1b[2Jb", Measure: true}); strings.Contains(got, "\x1b") {
		t.Errorf("got %q", got)
	}
}
