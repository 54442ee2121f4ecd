package wire

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestTokensOfText(t *testing.T) {
	for _, row := range []struct {
		name, text string
		want       int
	}{
		{"short words are one token each", "the cat sat on a mat", 6},
		{"a word is cut after eight bytes", "internationalization", 3},
		{"punctuation is a token each", "Yes, no!", 4},
		{"white space costs nothing", "  a \n\t b  ", 2},
		{"bytes of other scripts count as letters", "é界 ü", 2},
		{"an empty prompt is one token", "", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := Params{Prompt: []byte(row.text)}
			if n := p.CountTokens(); n != row.want || len(p.Tokens()) != n {
				t.Errorf("%d tokens, %d ids, want %d", n, len(p.Tokens()), row.want)
			}
		})
	}
}

func TestOutputWordsAreOneTokenEach(t *testing.T) {
	var b []byte
	for i := range uint64(1000) {
		b = AppendWord(b, i)
	}
	p := Params{Prompt: b}
	if n := p.CountTokens(); n != 1000 {
		t.Errorf("1000 words are %d tokens", n)
	}
}

func TestBlockHashesCoverAllBefore(t *testing.T) {
	ids := make([]int, 50)
	for i := range ids {
		ids[i] = i
	}
	a := BlockHashes(ids, 16)
	ids[0]++
	b := BlockHashes(ids, 16)
	if len(a) != 3 || a[2] == b[2] || a[0] == b[0] {
		t.Errorf("hashes %x and %x: want 3, all different", a, b)
	}
	ids[0]--
	ids[49]++ // behind the last full block
	if c := BlockHashes(ids, 16); c[2] != a[2] {
		t.Error("a token behind the last full block changed its hash")
	}
}

func TestEscapesAreRead(t *testing.T) {
	for _, text := range []string{`a\"b\\c\/d`, `\b\f\n\r\t`, `\u00e9`, `\ud83d\ude00`, `\ud800`,
		`\ud800\u0041`, `\udc00x`} {
		var other string
		if err := json.Unmarshal([]byte(`"`+text+`"`), &other); err != nil {
			t.Fatal(err)
		}
		p, err := ParseParams([]byte(`{"prompt":"`+text+`"}`), Completions)
		if err != nil {
			t.Fatal(err)
		}
		if string(p.Prompt) != other {
			t.Errorf("%s is %q, want %q", text, p.Prompt, other)
		}
	}
}

func TestNestingIsBounded(t *testing.T) {
	body := `{"x":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `,"prompt":"a"}`
	if _, err := ParseParams([]byte(body), Completions); err == nil || !strings.Contains(err.Error(), "nested deeper") {
		t.Errorf("error %v, want a bound of the nesting", err)
	}
}

// BenchmarkParse50kTokens is the body of a prompt of 50,000 tokens: its parsing must not delay a first token.
func BenchmarkParse50kTokens(b *testing.B) {
	var text []byte
	for i := range uint64(50_000) {
		text = AppendWord(text, i)
	}
	body := []byte(`{"model":"m","messages":[{"role":"user","content":"` + string(text) + `"}],"stream":true}`)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		p, err := ParseParams(body, Chat)
		if err != nil || p.CountTokens() != 50_007 {
			b.Fatal(err, p.CountTokens())
		}
	}
}
