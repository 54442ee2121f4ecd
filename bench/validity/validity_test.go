package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/bench/truth"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/sim"
)

func TestOneSeedIsOneListOfScenes(t *testing.T) {
	busy, closed, clocks := 0, 0, map[string]int{}
	for i := range 300 {
		s := draw(7, i)
		if s != draw(7, i) || s.Index != i {
			t.Fatalf("scene %d differs from itself: %v", i, s)
		}
		if (s.Streams > 0) == (s.Rate > 0) || s.Streams > 512 || s.Rate > 2000 || s.Busy > 4 {
			t.Errorf("scene %v is outside what is to be tried", s)
		}
		clocks[s.Clock]++
		if s.Busy > 0 {
			busy++
		}
		if s.Streams > 0 {
			closed++
		}
	}
	if busy < 150 || busy > 250 || closed < 100 || closed > 200 || clocks[clockKernel] != 100 || clocks[clockTLS] != 100 {
		t.Errorf("%d busy, %d closed, %v", busy, closed, clocks)
	}
	if draw(7, 3) == draw(8, 3) {
		t.Error("two seeds give the same scene")
	}
}

func TestAStageIsWrongOrRightOrBetween(t *testing.T) {
	for _, row := range []struct {
		name           string
		reported, real float64
		off            float64
		wrong, right   bool
	}{
		{name: "true", reported: 10, real: 10, right: true},
		{name: "off by a little share", reported: 1000.9, real: 1000, right: true},
		{name: "off by a little time", reported: 1.015, real: 1, right: true},
		{name: "off by one percent", reported: 10.1, real: 10},
		{name: "off by much of a small number", reported: 0.19, real: 0.1},
		{name: "off by more", reported: 10.3, real: 10, wrong: true},
		{name: "too small", reported: 9.7, real: 10, wrong: true},
		{name: "a load that was hardly there", reported: 10, real: 10, off: 0.03, wrong: true},
		{name: "a load that lacked a percent", reported: 10, real: 10, off: 0.01},
	} {
		r := result{Numbers: []number{{"e2e p50", 5, 5}, {"ttft p50", row.reported, row.real}}, Off: row.off}
		if r.wrong() != row.wrong || r.right() != row.right {
			t.Errorf("%s: wrong %v, right %v", row.name, r.wrong(), r.right())
		}
	}
}

// TestARequestIsFollowedOnItsConnection has the packets of three requests on one connection.
func TestARequestIsFollowedOnItsConnection(t *testing.T) {
	from, to := true, false
	packets := []packet{}
	for _, p := range []struct {
		at     int64
		client bool
	}{{100, from}, {200, to}, {210, to}, {300, from}, {350, to}, {360, to}, {361, to}, {400, from}, {450, to}} {
		packets = append(packets, packet{at: 1000 + p.at, client: p.client, port: 9})
	}
	pair := truth.Pair{Row: &report.Row{ID: "x"},
		Truth: &sim.Record{Port: 9, Arrival: 290, ArrivalUnix: 1290, ArrivalRead: 305, Events: []int64{58, 69}}}
	got, err := follow(pair, packets)
	want := followed{before: 1210, sent: 1300, events: []int64{1350, 1360}, end: 1361}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	pair.Truth.Events = append(pair.Truth.Events, 900)
	if _, err := follow(pair, packets); err == nil || !strings.Contains(err.Error(), "is not among the packets") {
		t.Errorf("an event without a packet: %v", err)
	}
}

func TestALoadIsOffByTheTimeInWhichPlacesWereEmpty(t *testing.T) {
	const millisecond, anchor = int64(1e6), int64(5e9)
	for _, row := range []struct {
		name  string
		shape string
		late  int64 // ms by which each request was sent after it was due
		want  float64
	}{
		{"requests that are sent when they are due", runplan.ShapeOpen, 0, 0},
		{"requests that are sent late by a tenth of what they take", runplan.ShapeOpen, 1, 1.0 / 11},
		{"streams that pause for a tenth of what a request takes", runplan.ShapeClosed, 1, 1.0 / 11},
	} {
		var pairs []truth.Pair
		packets := map[int64][]packet{}
		at := anchor
		for i := range int64(100) { // each on a connection: sent, answered 10 ms later
			port := int64(9)
			due := at
			at += row.late * millisecond
			packets[port] = append(packets[port], packet{at: at, client: true, port: port}, packet{
				at: at + 10*millisecond, port: port,
			})
			pairs = append(pairs, truth.Pair{Row: &report.Row{ID: fmt.Sprint(i), TIntended: due - anchor},
				Truth: &sim.Record{Port: port, Arrival: at, ArrivalUnix: at, ArrivalRead: at, Events: []int64{10 * millisecond}}})
			at += 10 * millisecond
		}
		stage := &report.StageResult{Planned: runplan.Stage{Shape: row.shape}}
		got, err := realOf(pairs, packets, stage, anchor)
		if err != nil || math.Abs(got.off-row.want) > 0.002 {
			t.Errorf("%s: off by %.4f, want %.4f (%v)", row.name, got.off, row.want, err)
		}
	}
}

func TestBothEndsOfAConnectionAreCaptured(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := startCapture(ln.Addr().(*net.TCPAddr).Port)
	if err != nil {
		t.Skip(err)
	}
	begin := time.Now().UnixNano()
	client, err := net.Dial("tcp4", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for _, side := range [][2]net.Conn{{client, server}, {server, client}, {client, server}} {
		io.WriteString(side[0], "hello")
		if _, err := io.ReadFull(side[1], make([]byte, 5)); err != nil {
			t.Fatal(err)
		}
	}
	over := time.Now().UnixNano()
	packets, err := c.end()
	if err != nil {
		t.Fatal(err)
	}
	list := packets[int64(client.LocalAddr().(*net.TCPAddr).Port)]
	if len(packets) != 1 || len(list) != 3 {
		t.Fatalf("got %v, want three segments of one connection", packets)
	}
	for i, p := range list {
		if p.client != (i != 1) || p.at < begin-1e6 || p.at > over+1e6 || i > 0 && p.at <= list[i-1].at {
			t.Errorf("segment %d: %+v", i, p)
		}
	}
}

func TestResultsAreGoneOnWith(t *testing.T) {
	o := options{seed: 5, file: filepath.Join(t.TempDir(), "results")}
	if got, err := o.begin(); err != nil || len(got) != 0 {
		t.Fatalf("a new file: %v, %v", got, err)
	}
	want := result{Scene: draw(5, 0), Requests: 3, Numbers: []number{{"ttft p50", 1, 2}}, Flagged: true, Why: "x"}
	if err := o.keep(want); err != nil {
		t.Fatal(err)
	}
	again := options{file: o.file}
	got, err := again.begin()
	if err != nil || again.seed != 5 || len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("got %+v of seed %d, %v", got, again.seed, err)
	}
	other := options{seed: 6, file: o.file}
	if _, err := other.begin(); err == nil || !strings.Contains(err.Error(), "seed 5, not of 6") {
		t.Errorf("another seed: %v", err)
	}
	if err := os.WriteFile(o.file, []byte("{\"seed\":5}\n{\"sce"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := again.begin(); err == nil || !strings.Contains(err.Error(), "result 0") {
		t.Errorf("a file that was cut: %v", err)
	}
}

func TestANewFileHasASeedOfItsOwn(t *testing.T) {
	o := options{file: filepath.Join(t.TempDir(), "results")}
	if _, err := o.begin(); err != nil || o.seed == 0 {
		t.Fatalf("seed %d, %v", o.seed, err)
	}
	again := options{file: o.file}
	if _, err := again.begin(); err != nil || again.seed != o.seed {
		t.Errorf("gone on with seed %d, want %d: %v", again.seed, o.seed, err)
	}
}

func TestTheTableNamesWhatWasMisjudged(t *testing.T) {
	s := func(i int, clock string, busy int) scene {
		return scene{Index: i, Clock: clock, Streams: 1, Busy: busy}
	}
	good := []number{{"ttft p50", 10, 10}}
	bad := []number{{"ttft p50", 12, 10}}
	var out bytes.Buffer
	all := print(&out, 3, []result{
		{Scene: s(0, clockKernel, 0), Numbers: good},
		{Scene: s(1, clockUser, 2), Numbers: bad, Flagged: true},
		{Scene: s(2, clockUser, 3), Numbers: bad},
		{Scene: s(3, clockTLS, 0), Numbers: good, Flagged: true, Why: "read_lateness"},
		{Scene: s(4, clockTLS, 0), Void: "packets were dropped"},
	})
	if all.met(false) {
		t.Error("the goals are met")
	}
	for _, want := range []string{"missed: #2 user", "blamed: #3 tls", "void: #4 tls", "50.0 % of those that are wrong",
		"50.0 % of those that are right"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if all := print(io.Discard, 3, []result{{Numbers: good}, {Numbers: bad, Flagged: true}}); !all.met(false) {
		t.Error("the goals are missed")
	}
}

func TestABusyProcessEndsWithItsInput(t *testing.T) {
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		beBusy(r)
		close(done)
	}()
	w.Close()
	<-done
}

func TestFewStagesAreHeldToWhatIsLikely(t *testing.T) {
	for _, row := range []struct {
		name        string
		all         tally
		goal, check bool
	}{
		{"all are judged well", tally{wrong: 100, found: 100, right: 100}, true, true},
		{"two of a hundred are missed", tally{wrong: 100, found: 98, right: 100}, true, true},
		{"three of a hundred are missed", tally{wrong: 100, found: 97, right: 100}, false, true},
		{"nine of a hundred are missed", tally{wrong: 100, found: 91, right: 100}, false, false},
		{"one of ten is missed", tally{wrong: 10, found: 9, right: 10}, false, true},
		{"three of ten are missed", tally{wrong: 10, found: 7, right: 10}, false, false},
		{"one of ten is blamed", tally{wrong: 10, found: 10, right: 10, blamed: 1}, false, true},
		{"three of ten are blamed", tally{wrong: 10, found: 10, right: 10, blamed: 3}, false, false},
		{"none was seen", tally{}, true, true},
	} {
		if goal, check := row.all.met(false), row.all.met(true); goal != row.goal || check != row.check {
			t.Errorf("%s: the goals are met: %v, in a check: %v; want %v, %v", row.name, goal, check, row.goal, row.check)
		}
	}
}
