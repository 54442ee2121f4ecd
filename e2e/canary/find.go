package canary

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
)

// stem begins every canary. It is long enough to be found in base64 wherever it lies, and no word of anybody.
const stem = "kq7Canaryv8X"

// Word is the canary of place number n.
func Word(n int) string { return fmt.Sprintf("%s%03dPz5", stem, n) }

var plain = regexp.MustCompile(`(?i)` + stem + `(\d{3})?`)

// deepest is how often something may be packed into something else.
const deepest = 5

// Find returns the canaries in data, each with how it was packed, such as "kq7Canaryv8X007 in gzip in base64"; sorted.
func Find(data []byte) []string {
	s := search{seen: map[[sha256.Size]byte]bool{}, found: map[string]bool{}}
	s.within(data, "", deepest)
	return slices.Sorted(maps.Keys(s.found))
}

type search struct {
	seen  map[[sha256.Size]byte]bool // what was searched already: many ways may lead to one text
	found map[string]bool
}

func (s search) within(data []byte, packed string, depth int) {
	sum := sha256.Sum256(data)
	if s.seen[sum] || len(data) < len(stem) {
		return
	}
	s.seen[sum] = true
	for _, hit := range plain.FindAll(data, -1) {
		s.found[string(hit)+packed] = true
	}
	if depth == 0 {
		return
	}
	for name, unpack := range packings() {
		for _, inner := range unpack(data) {
			s.within(inner, packed+" in "+name, depth-1)
		}
	}
}

// packings are the ways to hide a text; each returns what it finds packed so, nothing where that is nothing new.
func packings() map[string]func([]byte) [][]byte {
	return map[string]func([]byte) [][]byte{
		"gzip": gunzip, "zip": unzip, "zstd": unzstd, "parquet": parquetCells, "base64": unbase64, "hex": unhex,
		"escapes of URLs": unescapeURL, "escapes of JSON": unescapeJSON, "escapes of HTML": unescapeHTML, "UTF-16": narrow,
	}
}

func gunzip(data []byte) [][]byte {
	var out [][]byte
	for rest := data; ; {
		at := bytes.Index(rest, []byte{0x1f, 0x8b, 0x08})
		if at < 0 {
			return out
		}
		rest = rest[at:]
		if r, err := gzip.NewReader(bytes.NewReader(rest)); err == nil {
			if inner, _ := io.ReadAll(r); len(inner) > 0 { // what comes before the end of one that is cut counts
				out = append(out, inner)
			}
		}
		rest = rest[3:]
	}
}

func unzip(data []byte) [][]byte {
	if !bytes.Contains(data, []byte("PK\x03\x04")) {
		return nil
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil
	}
	var out [][]byte
	for _, f := range r.File {
		out = append(out, []byte(f.Name+f.Comment))
		if in, err := f.Open(); err == nil {
			inner, _ := io.ReadAll(in)
			out = append(out, inner)
		}
	}
	return out
}

func unzstd(data []byte) [][]byte {
	at := bytes.Index(data, []byte{0x28, 0xb5, 0x2f, 0xfd})
	if at < 0 {
		return nil
	}
	r, err := zstd.NewReader(bytes.NewReader(data[at:]), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil
	}
	defer r.Close()
	inner, _ := io.ReadAll(r)
	return [][]byte{inner}
}

func parquetCells(data []byte) [][]byte {
	if !bytes.HasPrefix(data, []byte("PAR1")) {
		return nil
	}
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil
	}
	r := parquet.NewReader(f)
	defer r.Close()
	var cells bytes.Buffer
	for rows := make([]parquet.Row, 64); ; {
		n, err := r.ReadRows(rows)
		for _, row := range rows[:n] {
			for _, cell := range row {
				cells.WriteString(cell.String() + "\n")
			}
		}
		if n == 0 || err != nil && !errors.Is(err, io.EOF) {
			return [][]byte{cells.Bytes()}
		}
	}
}

var (
	base64Run = regexp.MustCompile(`[A-Za-z0-9+/_-]{24,}`)
	hexRun    = regexp.MustCompile(`[0-9A-Fa-f]{24,}`)
	jsonRun   = regexp.MustCompile(`\\+(u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2})`)
)

// unbase64 decodes every run from each of its first four characters on: one text for each, as there may be many runs.
func unbase64(data []byte) [][]byte {
	out := make([][]byte, 4)
	for _, run := range base64Run.FindAll(data, -1) {
		run = bytes.ReplaceAll(bytes.ReplaceAll(run, []byte("-"), []byte("+")), []byte("_"), []byte("/"))
		for skip := range out {
			part := run[skip:]
			if inner, err := base64.RawStdEncoding.DecodeString(string(part[:len(part)/4*4])); err == nil {
				out[skip] = append(append(out[skip], inner...), '\n')
			}
		}
	}
	return out
}

func unhex(data []byte) [][]byte {
	var out [][]byte
	for _, run := range hexRun.FindAll(data, -1) {
		for skip := range 2 {
			part := run[skip:]
			inner := make([]byte, len(part)/2)
			if _, err := hex.Decode(inner, part[:len(part)/2*2]); err == nil && plain.Match(inner) {
				out = append(out, inner)
			}
		}
	}
	return out
}

func unescapeURL(data []byte) [][]byte {
	if bytes.IndexByte(data, '%') < 0 {
		return nil
	}
	var out bytes.Buffer
	for i := 0; i < len(data); i++ {
		if data[i] == '%' && i+2 < len(data) {
			if text, err := url.PathUnescape(string(data[i : i+3])); err == nil {
				out.WriteString(text)
				i += 2
				continue
			}
		}
		out.WriteByte(data[i])
	}
	return changed(data, out.Bytes())
}

func unescapeJSON(data []byte) [][]byte {
	return changed(data, jsonRun.ReplaceAllFunc(data, func(escape []byte) []byte {
		digits := bytes.TrimLeft(escape, `\`)[1:]
		var code rune
		_, _ = fmt.Sscanf(string(digits), "%x", &code)
		return []byte(string(code))
	}))
}

func unescapeHTML(data []byte) [][]byte {
	if !bytes.Contains(data, []byte("&#")) {
		return nil
	}
	return changed(data, []byte(html.UnescapeString(string(data))))
}

func narrow(data []byte) [][]byte { return changed(data, bytes.ReplaceAll(data, []byte{0}, nil)) }

func changed(before, after []byte) [][]byte {
	if bytes.Equal(before, after) {
		return nil
	}
	return [][]byte{after}
}
