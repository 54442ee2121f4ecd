package sse

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scan feeds body in pieces of at most n bytes, or whole with n = 0.
func scan(t *testing.T, body string, n int) []string {
	t.Helper()
	var (
		s      Scanner
		events []string
	)
	emit := func(data []byte) error {
		events = append(events, string(data))
		return nil
	}
	if n == 0 {
		n = len(body) + 1
	}
	for rest := body; len(rest) > 0; {
		piece := rest[:min(n, len(rest))]
		rest = rest[len(piece):]
		if err := s.Feed([]byte(piece), emit); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(emit); err != nil {
		t.Fatal(err)
	}
	return events
}

func streams() []struct {
	name string
	body string
	want []string
} {
	return []struct {
		name string
		body string
		want []string
	}{
		{name: "lines end with LF", body: "data: a\n\ndata: b\n\n", want: []string{"a", "b"}},
		{name: "lines end with CRLF", body: "data: a\r\n\r\ndata: b\r\n\r\n", want: []string{"a", "b"}},
		{name: "lines end with CR", body: "data: a\r\rdata: b\r\r", want: []string{"a", "b"}},
		{name: "line ends are mixed", body: "data: a\r\n\ndata: b\n\r\n", want: []string{"a", "b"}},
		{name: "the blank after the colon may lack", body: "data:a\n\n", want: []string{"a"}},
		{name: "only one blank is dropped", body: "data:  a\n\n", want: []string{" a"}},
		{name: "data lines of one event are joined", body: "data: a\ndata: b\n\n", want: []string{"a\nb"}},
		{name: "a data line without a colon is empty data", body: "data\n\n", want: []string{""}},
		{name: "comments carry nothing", body: ": ping\n\n: ping\ndata: a\n\n", want: []string{"a"}},
		{name: "other fields carry nothing", body: "event: x\nid: 7\nretry: 1\ndata: a\n\ndatum: b\n\n", want: []string{"a"}},
		{name: "a byte order mark may open the body", body: "\ufeffdata: a\n\n", want: []string{"a"}},
		{name: "an event without its blank line ends with the body", body: "data: a\n\ndata: b\n", want: []string{"a", "b"}},
		{name: "even without its line end", body: "data: a\n\ndata: [DONE]", want: []string{"a", "[DONE]"}},
		{name: "an event without data is none", body: "event: x\n\n\n\n", want: nil},
		{name: "characters of several bytes stay whole", body: "data: é漢🙂\n\n", want: []string{"é漢🙂"}},
		{name: "a field that only begins like data carries nothing", body: "database: x\n\ndata : y\n\n", want: nil},
		{name: "CRLF between data lines", body: "data: a\r\ndata: b\r\n\r\n", want: []string{"a\nb"}},
		{name: "CR between data lines, comments within", body: "data: a\r: x\rdata: b\rid: 1\r\r", want: []string{"a\nb"}},
		{name: "empty data lines are lines", body: "data: a\ndata:\ndata\ndata: b\n\n", want: []string{"a\n\n\nb"}},
		{name: "a byte order mark is none in the middle", body: "data: a\n\n\ufeffdata: b\n\n", want: []string{"a"}},
		{name: "the terminator without its blank line", body: "data: a\n\ndata: [DONE]\n", want: []string{"a", "[DONE]"}},
		{name: "an empty body has no event", body: "", want: nil},
	}
}

func TestScanner(t *testing.T) {
	for _, tt := range streams() {
		t.Run(tt.name, func(t *testing.T) {
			for n := range 8 {
				if diff := cmp.Diff(tt.want, scan(t, tt.body, n)); diff != "" {
					t.Errorf("pieces of %d bytes (-want +got):\n%s", n, diff)
				}
			}
		})
	}
}

// TestAnEventSplitAtEveryByte cuts a stream into two reads at every place, and into three.
func TestAnEventSplitAtEveryByte(t *testing.T) {
	const body = "\ufeff: hello\r\ndata: {\"a\":\"é漢🙂\"}\r\n\r\nevent: x\ndata: b\ndata: c\n\ndata: [DONE]\r\r"
	want := []string{`{"a":"é漢🙂"}`, "b\nc", "[DONE]"}
	for i := range len(body) {
		for j := i; j < len(body); j++ {
			var (
				s      Scanner
				events []string
			)
			emit := func(data []byte) error {
				events = append(events, string(data))
				return nil
			}
			for _, piece := range []string{body[:i], body[i:j], body[j:]} {
				if err := s.Feed([]byte(piece), emit); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Close(emit); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, events); diff != "" {
				t.Fatalf("cut at %d and %d (-want +got):\n%s", i, j, diff)
			}
		}
	}
}

func TestAnEventOfAMegabyte(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	for _, n := range []int{0, 1460, 65536} {
		if got := scan(t, "data: "+big+"\n\ndata: b\n\n", n); len(got) != 2 || got[0] != big || got[1] != "b" {
			t.Errorf("reads of %d bytes: %d events", n, len(got))
		}
	}
}

func TestAnEventOfOneReadIsNotCopied(t *testing.T) {
	var s Scanner
	body := []byte("data: abc\n\n: x\ndata: def\r\n\r\n")
	err := s.Feed(body, func(data []byte) error {
		if &data[0] != &body[6] && &data[0] != &body[21] {
			t.Errorf("%s lies elsewhere", data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnEventWithoutEndIsRefused(t *testing.T) {
	var s Scanner
	line := bytes.Repeat([]byte("x"), 1<<20)
	for range 20 {
		if err := s.Feed(line, func([]byte) error { return nil }); errors.Is(err, ErrTooLong) {
			return
		}
	}
	t.Error("20 MiB without a line end were taken")
}

func TestAnErrorOfTheReceiverEndsTheScan(t *testing.T) {
	var s Scanner
	stop := errors.New("enough")
	calls := 0
	err := s.Feed([]byte("data: a\n\ndata: b\n\n"), func([]byte) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("%d calls, error %v", calls, err)
	}
}

// reference is the slow and obvious reading of a body.
func reference(body string) []string {
	body = strings.TrimPrefix(body, "\ufeff")
	lines := strings.Split(strings.ReplaceAll(strings.ReplaceAll(body, "\r\n", "\n"), "\r", "\n"), "\n")
	var (
		events []string
		data   []string
	)
	for _, line := range append(lines, "") {
		if line == "" {
			if data != nil {
				events = append(events, strings.Join(data, "\n"))
			}
			data = nil
			continue
		}
		if name, value, _ := strings.Cut(line, ":"); name == "data" {
			data = append(data, strings.TrimPrefix(value, " "))
		}
	}
	return events
}

func FuzzScanner(f *testing.F) {
	for _, tt := range streams() {
		f.Add(tt.body, 3)
	}
	f.Add("\xef\xbb\xbfdata: \xff\xfe\r\r\n\n", 1)
	f.Fuzz(func(t *testing.T, body string, n int) {
		want := reference(body)
		if diff := cmp.Diff(want, scan(t, body, 0)); diff != "" {
			t.Fatalf("whole body (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, scan(t, body, 1+(n&7))); diff != "" {
			t.Fatalf("pieces (-want +got):\n%s", diff)
		}
	})
}

func BenchmarkScanner(b *testing.B) {
	event := []byte("data: " + strings.Repeat("x", 197) + "\n\n")
	b.SetBytes(int64(len(event)))
	b.ReportAllocs()
	var s Scanner
	for b.Loop() {
		if err := s.Feed(event, func([]byte) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
