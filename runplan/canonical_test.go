package runplan

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
)

func TestCanonical(t *testing.T) {
	for _, row := range []struct {
		name string
		in   any
		want string
	}{
		{"keys are sorted at every level", json.RawMessage(`{"b":{"z":1,"a":2},"a":[{"d":1,"c":2}]}`),
			`{"a":[{"c":2,"d":1}],"b":{"a":2,"z":1}}`},
		{"keys sort by UTF-16 code units", map[string]int{"\U0001F600": 1, "\uFB33": 2, "\u20ac": 3, "a": 4},
			"{\"a\":4,\"\u20ac\":3,\"\U0001F600\":1,\"\uFB33\":2}"},
		{"numbers have one spelling", json.RawMessage(`[1.0,1e2,1E-7,-0,0.00,1e21,333333333.33333329]`),
			`[1,100,1e-7,0,0,1e+21,333333333.3333333]`},
		{"strings have the fewest escapes", json.RawMessage(`"\u0041\/\u000F\n\u2028<\u20ac"`), "\"A/\\u000f\\n\u2028<€\""},
		{"a bare number is a document", 7, `7`},
		{"literals stay", json.RawMessage(`[true,false,null,{},[]]`), `[true,false,null,{},[]]`},
		{"2^53 is exact", int64(1 << 53), `9007199254740992`},
		{"a large float may look like an integer", 1e20, `100000000000000000000`},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := Canonical(row.in)
			if err != nil || string(got) != row.want {
				t.Errorf("got %s, %v, want %s", got, err, row.want)
			}
		})
	}
}

func TestCanonicalRefusesWhatItWouldChange(t *testing.T) {
	for _, v := range []any{int64(1<<53 + 1), int64(math.MinInt64), uint64(math.MaxUint64)} {
		if b, err := Canonical(v); err == nil || !strings.Contains(err.Error(), "2^53") {
			t.Errorf("Canonical(%d) = %s, %v", v, b, err)
		}
	}
}

// FuzzCanonical compares with another implementation of the RFC.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{
		`{"b":1,"a":{"y":[1.50,"\u00e9\n"],"x":null}}`, `[1e30,4.50,2e-3,0.000000000000000000000000001]`,
		`{"\u20ac":"Euro","\r":"CR","\ufb33":"d","1":"One","\ud83d\ude00":"face","\u0080":"c","\u00f6":"o"}`, `"\ud800"`,
		`{"a":1,"a":2}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var v any
		if json.Unmarshal(b, &v) != nil {
			return
		}
		got, err := Canonical(v)
		if err != nil {
			return
		}
		if _, structured := v.(map[string]any); !structured {
			return // the other implementation takes only documents
		}
		plain, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		want, err := jcs.Transform(plain)
		if err != nil {
			t.Skip(err)
		}
		if string(got) != string(want) {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}
