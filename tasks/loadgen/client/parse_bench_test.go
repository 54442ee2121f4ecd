package client

import (
	"strings"
	"testing"

	"bflow.dev/bflow/tasks/loadgen/sse"
)

// chatChunk is a chunk of a chat of the size that the goals fix: 203 bytes with its line ends.
const chatChunk = `{"id":"chatcmpl-7f1e2d3c4b5a6978","object":"chat.completion.chunk","created":1767225600,` +
	`"model":"demo-8b",` +
	`"choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}`

// BenchmarkChatChunks scans and parses pieces of 100 events, as a read brings them when the server coalesces.
func BenchmarkChatChunks(b *testing.B) {
	for _, tt := range []struct{ name, tail string }{{"plain", ""},
		{"continuous usage", `,"usage":{"prompt_tokens":256,"total_tokens":280,"completion_tokens":24}`}} {
		b.Run(tt.name, func(b *testing.B) {
			event := "data: " + strings.TrimSuffix(chatChunk, "}") + tt.tail + "}\n\n"
			piece := []byte(strings.Repeat(event, 100))
			var (
				s      sse.Scanner
				d      delta
				tokens int
			)
			emit := func(data []byte) error {
				d.clear()
				if err := parseOpenAI(data, &d); err != nil {
					return err
				}
				if d.class == content {
					tokens++
				}
				return nil
			}
			b.ReportAllocs()
			b.SetBytes(int64(len(event)))
			n := 0
			for b.Loop() {
				if n++; n%100 != 1 {
					continue
				}
				if err := s.Feed(piece, emit); err != nil {
					b.Fatal(err)
				}
			}
			if tokens < n {
				b.Fatalf("%d tokens of %d events", tokens, n)
			}
		})
	}
}
