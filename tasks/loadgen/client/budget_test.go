package client

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

// inPieces answers requests with a text in two parts; the second is sent once the loop has seen the first.
func inPieces(first string, seen chan struct{}, second string) func(net.Conn) {
	return func(conn net.Conn) {
		in := bufio.NewReader(conn)
		for heard(in) {
			io.WriteString(conn, first)
			<-seen
			io.WriteString(conn, second)
		}
	}
}

// endlessLine writes a line of a stream until the client has had enough.
func endlessLine(conn net.Conn) {
	if !heard(bufio.NewReader(conn)) {
		return
	}
	io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\ndata: ")
	for block := strings.Repeat("x", 1<<16); ; {
		if _, err := io.WriteString(conn, block); err != nil {
			return
		}
	}
}

func TestAnswersShareABudget(t *testing.T) {
	long := `data: {"choices":[{"delta":{"content":"` + strings.Repeat("a", 40<<10) + `"}}]}` + "\n\n"
	for _, tt := range []struct {
		name   string
		used   int // by others
		server func(seen chan struct{}) func(net.Conn)
		class  string
		text   string
	}{
		{name: "an event in two reads is ok while there is room", used: MaxHeld / 2,
			server: func(seen chan struct{}) func(net.Conn) { return inPieces(begunEvent(long), seen, long[30<<10:]+good) }},
		{name: "also where others hold all but what is left to small ones", used: MaxHeld - reserved,
			server: func(seen chan struct{}) func(net.Conn) { return inPieces(begunEvent(long), seen, long[30<<10:]+good) }},
		{name: "where they hold all it is refused", used: MaxHeld, class: report.ErrTooLarge, text: "96 MiB together",
			server: func(seen chan struct{}) func(net.Conn) { return inPieces(begunEvent(long), seen, long[30<<10:]+good) }},
		{name: "a line without end is refused for its length",
			server: func(chan struct{}) func(net.Conn) { return endlessLine }, class: report.ErrTooLarge,
			text: "longer than 16 MiB"},
		{name: "or before, where others hold much", used: MaxHeld - reserved - 1<<20,
			server: func(chan struct{}) func(net.Conn) { return endlessLine }, class: report.ErrTooLarge,
			text: "96 MiB together"},
		{name: "so is a head without end", used: MaxHeld, class: report.ErrTooLarge, text: "96 MiB together",
			server: func(seen chan struct{}) func(net.Conn) {
				return inPieces("HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 100<<10), seen, "")
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			seen := make(chan struct{}, 1)
			r := newRig(t, serve(t, tt.server(seen)), runplan.API{Stream: true}, false)
			x := r.exchange(10)
			x.Budget.Keep(tt.used)
			r.line.Put(x)
			for told := false; r.over == 0; {
				r.until(func() bool { return r.over > 0 || !told && x.Outcome.FirstByte >= 0 })
				if !told {
					told = true
					seen <- struct{}{}
				}
			}
			o := x.Outcome
			if o.Class != tt.class || !strings.Contains(o.Error, tt.text) || (o.Status == report.StatusOK) != (tt.class == "") {
				t.Errorf("status %q, class %q: %s", o.Status, o.Class, o.Error)
			}
			if x.Release(); x.Budget.used != tt.used {
				t.Errorf("%d bytes are counted after the end, %d before", x.Budget.used, tt.used)
			}
		})
	}
}

// begunEvent is the head of a stream and the first 30 KiB of its first event.
func begunEvent(event string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(event)+len(good), event[:30<<10])
}

func TestEveryEndGivesBackWhatAnAnswerHeld(t *testing.T) {
	event := `data: {"choices":[{"token_ids":[1,2],"delta":{"content":"` + strings.Repeat("a", 1000) + `"}}]}` + "\n\n"
	stream := strings.Repeat(event, 4000) + "data: [DONE]\n\n"
	whole := `{"choices":[{"message":{"content":"` + strings.Repeat("a", 1<<20) + `"}}]}`
	for _, tt := range []struct {
		name   string
		answer string
		stream bool
		cut    bool // before its end
		status string
	}{
		{name: "a stream whose text is kept", answer: answered(200, "", stream), stream: true, status: report.StatusOK},
		{name: "one that is cut", answer: "HTTP/1.1 200 OK\r\n\r\n" + stream[:1<<20], stream: true, cut: true,
			status: report.StatusCut},
		{name: "one that is malformed", answer: answered(200, "", stream+"data: {\n\n"), stream: true,
			status: report.StatusOK},
		{name: "a body", answer: answered(200, "", whole), status: report.StatusOK},
		{name: "a body that is cut", answer: "HTTP/1.1 200 OK\r\n\r\n" + whole[:1<<20], cut: true, status: report.StatusCut},
		{name: "an error page", answer: answered(500, "", whole), status: report.StatusFailed},
	} {
		for kind, fall := range map[string]bool{"pool": false, "fallback": true} {
			t.Run(tt.name+", "+kind, func(t *testing.T) {
				r := newRig(t, serve(t, say(tt.answer)), runplan.API{Stream: tt.stream}, fall)
				x := r.exchange(10)
				x.KeepText = true
				r.line.Put(x)
				most := 0
				r.until(func() bool {
					if most = max(most, x.held); tt.cut && x.held > 500<<10 {
						x.GiveUp(ErrCut, r.loop.Now())
					}
					return r.over > 0
				})
				if x.Outcome.Status != tt.status {
					t.Errorf("status %q: %s", x.Outcome.Status, x.Outcome.Error)
				}
				if x.Release(); x.Budget.used != 0 || x.held != 0 {
					t.Errorf("%d bytes are counted after the end, %d of them for the exchange; the most were %d",
						x.Budget.used, x.held, most)
				}
			})
		}
	}
}

func TestTheBufferOfABodyIsUsedAgain(t *testing.T) {
	body := `{"choices":[{"message":{"content":"` + strings.Repeat("a", 1<<20) + `"}}]}`
	r := newRig(t, serve(t, say(answered(200, "", body), answered(200, "", body))), runplan.API{}, false)
	x := r.exchange(10)
	r.line.Put(x)
	r.until(func() bool { return r.over == 1 })
	if len(x.Budget.spare) != 1 || x.Budget.spared < len(body) || x.Budget.spared > maxSpare {
		t.Fatalf("%d buffers of %d bytes wait", len(x.Budget.spare), x.Budget.spared)
	}
	first := x.Budget.spared
	r.fill(x, 10)
	r.line.Put(x)
	r.until(func() bool { return r.over == 2 })
	if len(x.Budget.spare) != 1 || x.Budget.spared != first || x.Outcome.Status != report.StatusOK {
		t.Errorf("%d buffers of %d bytes wait, there was one of %d", len(x.Budget.spare), x.Budget.spared, first)
	}
}
