package loadgen

import "testing"

func TestAPrefixTellsSampleAndStage(t *testing.T) {
	m := &measurement{}
	m.RunID, m.Attempt = "exp-r7-s9-run", 2
	for _, want := range []trySpec{{}, {sample: 1, index: 12}, {index: 3, try: 2}} {
		if sample, stage := placeOf(m.idPrefix(want)); sample != want.sample || stage != want.index {
			t.Errorf("%q: sample %d stage %d, want %d and %d", m.idPrefix(want), sample, stage, want.sample, want.index)
		}
	}
}
