package dataset

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// keep is what every parser is fuzzed with: rows have texts, and parsing ends.
func keep(t *testing.T) func(row) error {
	n := 0
	return func(r row) error {
		for _, turn := range r.turns {
			if turn.text == "" {
				t.Fatal("a turn without a text")
			}
		}
		if n++; n > 1000 {
			return errEnough
		}
		return nil
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\r\nb\n\n\ufeffc")
	f.Fuzz(func(t *testing.T, text string) { _ = parseText(strings.NewReader(text), keep(t)) })
}

func FuzzCSV(f *testing.F) {
	f.Add("prompt,output_tokens\n\"a\n\"\"b\",3\n")
	f.Fuzz(func(t *testing.T, text string) { _ = parseCSV(strings.NewReader(text), columns{}, keep(t)) })
}

func FuzzJSONL(f *testing.F) {
	f.Add("{\"prompt\":\"a\",\"output_tokens\":\"3\"}\n{\"prompt\":\"\\ud800\",\"output_tokens\":3e0}\n")
	f.Fuzz(func(t *testing.T, text string) { _ = parseJSONL(strings.NewReader(text), columns{}, keep(t)) })
}

func FuzzShareGPT(f *testing.F) {
	f.Add(sharegpt)
	f.Add(`{"conversations":[{"from":"human","value":"a"}]}`)
	f.Fuzz(func(t *testing.T, text string) { _ = parseShareGPT(strings.NewReader(text), keep(t)) })
}

func FuzzParquet(f *testing.F) {
	for _, name := range []string{"testdata/arrow.zstd.parquet", "testdata/arrow.snappy.parquet"} {
		whole, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(whole)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		_ = parseParquet(bytes.NewReader(file), int64(len(file)), columns{}, keep(t))
	})
}
