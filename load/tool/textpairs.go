package tool

import (
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/runplan"
)

// ColonPairs reads "K:V" as a map of one; JSON text and maps are what they are.
func (v Value) ColonPairs() Value { return cutPairs(v, ":") }

// EqualPairs reads "K=V" in the same way.
func (v Value) EqualPairs() Value { return cutPairs(v, "=") }

func cutPairs(v Value, sep string) Value {
	if !v.Is(yaml.ScalarNode) {
		return v
	}
	s := v.Text()
	if strings.HasPrefix(s, "{") {
		return parseJSON(v, s)
	}
	key, val, ok := strings.Cut(s, sep)
	if !ok {
		v.Errorf("want NAME%sVALUE", sep) // without what was found: it may hold a credential
		return v.At(nil, v.Path)
	}
	return newMapping(v, [2]string{strings.TrimSpace(key), strings.TrimSpace(val)})
}

// ReadGoodput adds objectives written as "ttft:200 tpot:30"; per is the length of one unit.
func (d *Draft) ReadGoodput(v Value, per time.Duration) {
	if d.SLO == nil {
		d.SLO = &runplan.SLO{Goodput: &runplan.Goodput{}, OnBreach: "report"}
	}
	if !v.Is(yaml.ScalarNode) {
		d.goodputFields(v, per)
		return
	}
	for word := range strings.FieldsSeq(v.Text()) {
		n := *v.Node
		n.Value = word
		d.goodputFields(v.At(&n, v.Path).ColonPairs(), per)
	}
}

func (d *Draft) goodputFields(v Value, per time.Duration) {
	f := v.Fields()
	g := d.SLO.Goodput
	for _, o := range []struct {
		to    *runplan.Duration
		names []string
	}{
		{&g.TTFT, []string{"ttft", "time_to_first_token"}},
		{&g.TPOT, []string{"tpot", "inter_token_latency"}},
		{&g.E2E, []string{"e2el", "request_latency"}},
	} {
		if x := f.Get(o.names...); x.IsSet() {
			*o.to = x.Seconds(per)
		}
	}
	f.Close()
}
