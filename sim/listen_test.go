package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/sim/wire"
)

// testKey marks what must not be found in any output.
const testKey = "not-a-real-key"

func ms(n int) runplan.Duration { return runplan.Duration(time.Duration(n) * time.Millisecond) }

// listen starts an engine that ends with the test.
func listen(t testing.TB, cfg Config) *Server {
	t.Helper()
	s, err := Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// answer is a response that was read to its end, or to an error.
type answer struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body
}

// call sends a request on a connection of its own.
func call(t testing.TB, s *Server, method, path, body string, header ...string) answer {
	t.Helper()
	return callWith(t, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, s, method, path, body, header...)
}

func callWith(t testing.TB, client *http.Client, s *Server, method, path, body string, header ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(eventually.Context(t), method, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return answer{status: resp.StatusCode, header: resp.Header, body: string(data), err: err}
}

// event is what the tests read of a chunk.
type event struct {
	Model   string
	SentNS  int64 `json:"sent_ns"`
	Choices []struct {
		Text  string
		Delta struct {
			Role               string
			Content, Reasoning string
		}
		Message      struct{ Content, Reasoning string }
		FinishReason *string `json:"finish_reason"`
	}
	Usage *struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
		Details          struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		Completion struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	Error *struct {
		Message string
		Code    int
	}
}

// readStream is a stream of events that was read to its end.
type readStream struct {
	events                []event
	tokens                []string // text of each event with a token
	reasoning             int      // events with reasoning
	done                  bool
	finish                string
	comments, multi, crlf int
	usage                 *event
	failed                *event
}

// parseStream reads a body by the rules for server-sent events.
func parseStream(t testing.TB, body string) readStream {
	t.Helper()
	var r readStream
	r.crlf = strings.Count(body, "\r\n")
	for _, block := range strings.Split(strings.ReplaceAll(body, "\r\n", "\n"), "\n\n") {
		var data []string
		for _, line := range strings.Split(block, "\n") {
			switch {
			case strings.HasPrefix(line, ":"):
				r.comments++
			case strings.HasPrefix(line, "data: "):
				data = append(data, strings.TrimPrefix(line, "data: "))
			case line != "":
				t.Errorf("line %q is no field", line)
			}
		}
		if len(data) > 1 {
			r.multi++
		}
		if text := strings.Join(data, "\n"); text == "[DONE]" {
			r.done = true
		} else if text != "" {
			r.add(t, text)
		}
	}
	return r
}

func (r *readStream) add(t testing.TB, text string) {
	t.Helper()
	var e event
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatalf("event %q: %v", text, err)
	}
	r.events = append(r.events, e)
	switch {
	case e.Error != nil:
		r.failed = &e
	case len(e.Choices) == 0:
		r.usage = &e
	default:
		c := e.Choices[0]
		if token := c.Text + c.Delta.Content + c.Delta.Reasoning; token != "" {
			r.tokens = append(r.tokens, token)
		}
		if c.Delta.Reasoning != "" {
			r.reasoning++
		}
		if c.FinishReason != nil {
			r.finish = *c.FinishReason
		}
	}
}

// ended waits until n requests have ended, and returns their truth.
func ended(t testing.TB, s *Server, n int) []Record {
	t.Helper()
	var all []Record
	eventually.Nil(t, fmt.Sprintf("the end of %d requests", n), func() error {
		if all = s.Truth(); len(all) < n {
			return fmt.Errorf("%d have ended", len(all))
		}
		return nil
	})
	return all
}

func chatBody(tokens int, more string) string {
	return `{"model":"m","messages":[{"role":"user","content":"say it in short common words"}],` +
		`"stream":true,"max_tokens":` +
		number(float64(tokens)) + more + `}`
}

// readTruth reads the records of a truth log.
func readTruth(t testing.TB, data []byte) (all []Record) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	for dec.More() {
		var r Record
		if err := dec.Decode(&r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// dial opens a connection that ends with the test.
func dial(t testing.TB, s *Server) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func send(t testing.TB, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// post returns a request as bytes.
func post(path, body string) string {
	return "POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

// words returns a prompt of n tokens.
func words(n int) string {
	var b []byte
	for i := range n {
		b = wire.AppendWord(b, uint64(i))
	}
	return strings.TrimSpace(string(b))
}
