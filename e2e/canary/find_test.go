package canary

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
)

func TestACanaryIsFoundHoweverItIsPacked(t *testing.T) {
	secret := Word(42)
	for _, row := range []struct {
		name string
		data []byte
	}{
		{"plain", []byte("a" + secret + "b")},
		{"in small letters", []byte(strings.ToLower(secret))},
		{"cut in the middle of its number", []byte(secret[:len(stem)+1])},
		{"gzip", gzipped(secret)},
		{"gzip that is cut", gzipped(strings.Repeat(secret, 9))[:60]},
		{"gzip behind something", append([]byte("head"), gzipped(secret)...)},
		{"zip", zipped(t, "a/b", secret)},
		{"the name of a file in a zip", zipped(t, secret, "")},
		{"zstd", zstdOf(t, secret)},
		{"parquet", parquetOf(t, secret)},
		{"base64", []byte(`"` + base64.StdEncoding.EncodeToString([]byte(secret)) + `"`)},
		{"base64 one byte on", []byte(base64.StdEncoding.EncodeToString([]byte("a" + secret + "b")))},
		{"base64 two bytes on", []byte(base64.URLEncoding.EncodeToString([]byte("\xff\xfe" + secret)))},
		{"user and password in base64", []byte("Basic " + base64.StdEncoding.EncodeToString([]byte("me:"+secret)))},
		{"base64 of base64",
			[]byte(base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(secret)))))},
		{"gzip in base64 in JSON", []byte(`{"data":"` + base64.StdEncoding.EncodeToString(gzipped(secret)) + `"}`)},
		{"hex", []byte(hex.EncodeToString([]byte("x" + secret)))},
		{"escapes of URLs", []byte(escaped(secret, "%%%02X"))},
		{"escapes of JSON", []byte(escaped(secret, `\u%04x`))},
		{"escapes of JSON in JSON", []byte(escaped(secret, `\\u%04x`))},
		{"escapes of Python", []byte(escaped(secret, `\x%02x`))},
		{"escapes of HTML", []byte(escaped(secret, "&#%d;"))},
		{"UTF-16", wide(secret)},
	} {
		t.Run(row.name, func(t *testing.T) {
			if found := Find(row.data); len(found) == 0 {
				t.Errorf("not found in %q", row.data)
			}
		})
	}
	if found := Find([]byte("no canary: kq7 Canary v8X " +
		base64.StdEncoding.EncodeToString([]byte("a long text without any secret")))); len(found) > 0 {
		t.Errorf("found %q where there is none", found)
	}
}

func gzipped(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text)) // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}

func zipped(t *testing.T, name, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.Write([]byte(text))
	_ = w.Close()
	return b.Bytes()
}

func zstdOf(t *testing.T, text string) []byte {
	t.Helper()
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	return enc.EncodeAll([]byte(text), nil)
}

func parquetOf(t *testing.T, text string) []byte {
	t.Helper()
	type row struct{ Text string }
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b, parquet.Compression(&parquet.Zstd))
	if _, err := w.Write([]row{{"a"}, {text}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func escaped(text, form string) string {
	var b strings.Builder
	for _, r := range text {
		fmt.Fprintf(&b, form, r)
	}
	return b.String()
}

func wide(text string) []byte {
	var b []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		b = append(b, byte(unit), byte(unit>>8))
	}
	return b
}
