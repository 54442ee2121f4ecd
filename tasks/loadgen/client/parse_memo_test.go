package client

import (
	"testing"
)

// TestEventsReadTheSameAfterOthers: what is remembered of an event must not show in the next one.
func TestEventsReadTheSameAfterOthers(t *testing.T) {
	for _, first := range chunks() {
		for _, second := range chunks() {
			compareMemo(t, []byte(first), []byte(second))
		}
	}
}

// compareMemo reads second once after first and once alone.
func compareMemo(t *testing.T, first, second []byte) {
	t.Helper()
	var after, alone delta
	after.clear()
	_ = parseOpenAI(first, &after)
	after.clear()
	errAfter := parseOpenAI(second, &after)
	alone.clear()
	errAlone := parseOpenAI(second, &alone)
	if (errAfter == nil) != (errAlone == nil) {
		t.Fatalf("%s\nafter %s: %v, alone: %v", second, first, errAfter, errAlone)
	}
	if errAlone == nil && (read(&after) != read(&alone) || string(after.failure) != string(alone.failure) ||
		string(after.finish) != string(alone.finish) ||
		after.reasoning != alone.reasoning || after.cached != alone.cached) {
		t.Fatalf("%s\nafter %s: %+v\nalone: %+v", second, first, read(&after), read(&alone))
	}
}

func chunks() []string {
	return []string{
		chatChunk,
		`{"id":"a","choices":[{"index":0,"delta":{"content":" x"},"finish_reason":null}]}`,
		`{"id":"a","choices":[{"index":0,"delta":{"content":" y","tool_calls":[{"function":{"name":"f"}}]},` +
			`"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`,
		`{"id":"a","choices":[{"index":0,"delta":{"content":null,"reasoning":"r"}}]}`,
		`{"id":"a","choices":[{"index":0,"delta":{"reasoning":"r","content":"c"}}]}`,
		`{"id":"a","choices":[{"index":0,"delta":{"content":""}},{"index":1,"delta":{"content":"z"}}]}`,
		`{"id":"a","choices":[{"index":0,"text":"t","token_ids":[1,2]}]}`,
		`{"id":"a","choices":[{"token_ids":[1,2],"index":0,"text":"t"}]}`,
		`{"usage":{"completion_tokens":4},"choices":[{"delta":{"content":"u"}}]}`,
		`{"error":{"message":"x"},"choices":[{"delta":{"content":"u"}}]}`,
		`{"id":"a","choices":[{"index":0,"delta":{"content":" x"}`,
		`{"id":"a","choices":[{"index":0,"delta":{"content":`,
		`{"id":"a","choices":[]}`,
		`{"id":"a","choices":null}`,
		`{"id":"a","choices":[null]}`,
		`[DONE]`,
	}
}

func FuzzMemo(f *testing.F) {
	for i, c := range chunks() {
		f.Add([]byte(c), []byte(chunks()[(i+1)%len(chunks())]), 40)
	}
	f.Fuzz(func(t *testing.T, first, second []byte, shared int) {
		compareMemo(t, first, second)
		if shared = min(max(shared, 0), len(first)); shared > 0 { // events that begin alike are what matters
			compareMemo(t, first, append(append([]byte(nil), first[:shared]...), second...))
		}
	})
}
