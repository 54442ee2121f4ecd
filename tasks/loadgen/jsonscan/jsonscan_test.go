package jsonscan

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

func TestObject(t *testing.T) {
	tests := []struct {
		name string
		text string
		want string // key=value;
		bad  bool
	}{
		{name: "members come in order", text: `{"a":1,"b":"x","c":[1,{"d":2}],"e":null}`,
			want: `a=1;b="x";c=[1,{"d":2}];e=null;`},
		{name: "white space is skipped", text: " {\t\"a\" : 1 ,\n \"b\" : { } } ", want: `a=1;b={ };`},
		{name: "quotes and braces in strings end nothing", text: `{"a":"}\"]","b":"\\"}`, want: `a="}\"]";b="\\";`},
		{name: "the empty object has no member", text: `{}`},
		{name: "text that is no object", text: `[1]`, bad: true},
		{name: "an object without end", text: `{"a":1`, bad: true},
		{name: "a string without end", text: `{"a":"x\"}`, bad: true},
		{name: "a missing value", text: `{"a":}`, bad: true},
		{name: "a missing comma", text: `{"a":1 "b":2}`, bad: true},
		{name: "text behind the object", text: `{"a":1}x`, bad: true},
		{name: "nothing", text: ``, bad: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			err := Object([]byte(tt.text), func(key, value []byte) error {
				got += string(key) + "=" + string(value) + ";"
				return nil
			})
			if (err != nil) != tt.bad || !tt.bad && got != tt.want {
				t.Errorf("got %q, error %v; want %q, error %v", got, err, tt.want, tt.bad)
			}
		})
	}
}

func TestValues(t *testing.T) {
	if n := Len([]byte(`[1, [2,3], "4,5"]`)); n != 3 {
		t.Errorf("length %d, want 3", n)
	}
	if n := Len([]byte(`null`)); n != 0 {
		t.Errorf("null has length %d", n)
	}
	if n, ok := Int([]byte(`-12`)); !ok || n != -12 {
		t.Errorf("got %d %v", n, ok)
	}
	if _, ok := Int([]byte(`null`)); ok {
		t.Error("null is an integer")
	}
	if Filled([]byte(`""`)) || Filled([]byte(`null`)) || !Filled([]byte(`" "`)) {
		t.Error("a string with a character is filled, others are not")
	}
}

func TestStringsOfEveryLength(t *testing.T) {
	for n := range 200 {
		for _, end := range []string{"", `\"`, `\\`, `\u00e9`} {
			text := `"` + strings.Repeat("é"[:1+n%2], n) + end + `"`
			if got := skipString([]byte(text+`,"b"`), 0); got != len(text) {
				t.Fatalf("%s: %d, want %d", text, got, len(text))
			}
			if got := skipString([]byte(text[:len(text)-1]), 0); got != -1 {
				t.Fatalf("%s without its end: %d", text, got)
			}
		}
	}
}

func TestACursorTakesWhatItsReaderNames(t *testing.T) {
	c := At([]byte(` { "a" : [ {"b":1} , null, [], [1,2,3] ] , "c":null, "d":{}, "e":"x" } `))
	got := ""
	for ok := c.Object(); ok; {
		var key []byte
		if key, ok = c.Key(); !ok {
			break
		}
		got += string(key)
		switch string(key) {
		case "a":
			for more := c.Array() && c.More(); more; more = c.More() {
				if c.Peek() == '[' {
					got += strconv.FormatInt(c.Count(), 10)
				} else {
					got += string(c.Raw())
				}
			}
		case "c":
			if c.Object() {
				t.Error("a null was entered")
			}
		default:
			c.Skip()
		}
	}
	if err := c.Err(); err != nil || got != `a{"b":1}null03cde` {
		t.Errorf("got %s, error %v", got, err)
	}
}

func TestMistakesStopACursor(t *testing.T) {
	for _, text := range []string{``, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,"a":1}`, `{"a" 1}`,
		`{"a":1 "b":2}`, `{"a":[1,]}`, `{"a":[,1]}`, `{"a":[1}`, `{"a":x"}`, `{"a":1}}`, `3`} {
		c := At([]byte(text))
		if c.Object() {
			for key, ok := c.Key(); ok; key, ok = c.Key() {
				if string(key) == "a" && c.Peek() == '[' {
					for more := c.Array() && c.More(); more; more = c.More() {
						c.Skip()
					}
				} else {
					c.Skip()
				}
			}
		}
		if c.Err() == nil && text != `3` || text == `3` && c.Object() {
			t.Errorf("%s is taken", text)
		}
	}
}

func FuzzObject(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2,{"b":"\"\\"}],"c":"é"}`, `{}`, `{"a":}`,
		`{"choices":[{"delta":{"content":"x"}}]}`, "{\"\":\"\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		n := 0
		err := Object(text, func(_, value []byte) error {
			n++
			if !bytes.Contains(text, value) {
				t.Fatal("a value lies outside the text")
			}
			return nil
		})
		var want map[string]json.RawMessage
		if json.Unmarshal(text, &want) == nil && want != nil {
			if err != nil || n < len(want) {
				t.Fatalf("valid JSON gave %d of %d members: %v", n, len(want), err)
			}
		}
	})
}
