package report

import (
	"strings"
	"testing"
)

func TestParseProgress(t *testing.T) {
	tests := []struct {
		name, line string
		want       Progress
		ok         bool
	}{
		{name: "a stage of known length", ok: true,
			line: `load-gen: sample 1/2 stage 2/3 "rate 20" 5 s of 30 s: 100 sent, 97 done, 3 in flight, 0 errors, 19.40 req/s`,
			want: Progress{Samples: 2, Stage: 1, Stages: 3, Name: "rate 20", Measure: true, ElapsedS: 5, ExpectedS: 30,
				Sent: 100, Done: 97, InFlight: 3, Rate: 19.4}},
		{name: "a level of a search, which no plan counts", ok: true,
			line: `load-gen: sample 1/1 stage 4 "level \"4\"" 5 s: 1 sent, 0 done, 1 in flight, 2 errors, 0.00 req/s`,
			want: Progress{
				Samples: 1, Stage: 3, Name: `level "4"`, Measure: true, ElapsedS: 5, Sent: 1, InFlight: 1, Errors: 2}},
		{name: "answers have begun", ok: true,
			line: `sample 1/1 stage 1/1 "c8" 5 s: 9 sent, 8 done, 1 in flight, 0 errors, 1.60 req/s, mean TTFT 40.250 ms`,
			want: Progress{Samples: 1, Stages: 1, Name: "c8", Measure: true, ElapsedS: 5, Sent: 9, Done: 8, InFlight: 1,
				Rate: 1.6, TTFTMS: 40.25}},
		{name: "a stage that is measured again", ok: true,
			line: `sample 1/1 stage 2/4 "rate-150" (try 2, after client_limited) 3 s of 8 s: 9 sent, 8 done, 1 in ` +
				`flight, 0 errors, 1.60 req/s`,
			want: Progress{Samples: 1, Stage: 1, Stages: 4, Name: "rate-150", Try: 1, After: "client_limited", Measure: true,
				ElapsedS: 3, ExpectedS: 8, Sent: 9, Done: 8, InFlight: 1, Rate: 1.6}},
		{name: "anything else", line: "load-gen: the engine is gone"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := ParseProgress(tt.line); got != tt.want || ok != tt.ok {
				t.Errorf("got %+v, %t", got, ok)
			}
			if tt.ok && !strings.HasSuffix(tt.line, tt.want.Line()) {
				t.Errorf("written again it is %q", tt.want.Line())
			}
		})
	}
}
