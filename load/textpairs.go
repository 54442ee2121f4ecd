package load

import (
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/runplan"
)

// colonPairs reads "K:V" as a map of one; JSON text and maps are what they are.
func (v value) colonPairs() value { return v.cutPairs(":") }

// equalPairs reads "K=V" in the same way.
func (v value) equalPairs() value { return v.cutPairs("=") }

func (v value) cutPairs(sep string) value {
	if !v.is(yaml.ScalarNode) {
		return v
	}
	s := v.text()
	if strings.HasPrefix(s, "{") {
		return v.json(s)
	}
	key, val, ok := strings.Cut(s, sep)
	if !ok {
		v.errorf("want NAME%sVALUE", sep) // without what was found: it may hold a credential
		return value{findings: v.findings, file: v.file, path: v.path}
	}
	return v.mapping([2]string{strings.TrimSpace(key), strings.TrimSpace(val)})
}

// goodputPairs adds objectives written as "ttft:200 tpot:30"; per is the length of one unit.
func (t *translator) goodputPairs(v value, per time.Duration) {
	if t.slo == nil {
		t.slo = &runplan.SLO{Goodput: &runplan.Goodput{}, OnBreach: "report"}
	}
	if !v.is(yaml.ScalarNode) {
		t.goodputFields(v, per)
		return
	}
	for word := range strings.FieldsSeq(v.text()) {
		n := *v.node
		n.Value = word
		t.goodputFields(v.at(&n, v.path).colonPairs(), per)
	}
}

func (t *translator) goodputFields(v value, per time.Duration) {
	f := v.fields()
	g := t.slo.Goodput
	for _, o := range []struct {
		to    *runplan.Duration
		names []string
	}{
		{&g.TTFT, []string{"ttft", "time_to_first_token"}},
		{&g.TPOT, []string{"tpot", "inter_token_latency"}},
		{&g.E2E, []string{"e2el", "request_latency"}},
	} {
		if x := f.get(o.names...); x.set() {
			*o.to = x.seconds(per)
		}
	}
	f.close()
}
