package trace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/load/schedule"
	"bflow.dev/bflow/runplan"
)

func file(t testing.TB, name string, plan runplan.Trace) *Trace {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out, err := Read(f, plan)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func lines(t testing.TB, plan runplan.Trace, rows ...string) *Trace {
	t.Helper()
	if plan.Format == "" {
		plan.Format = runplan.TraceMooncake
	}
	out, err := Read(strings.NewReader(strings.Join(rows, "\n")), plan)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// describe writes the requests of a trace: session.turn at ms, idle ms, in>out.
func describe(t *Trace) []string {
	var out []string
	for i := range t.Requests() {
		r := &t.Requests()[i]
		out = append(out, fmt.Sprintf("%d.%d at %s idle %s %d>%d", r.Session, r.Turn, ms(r.At), ms(r.Idle), r.In, r.Out))
	}
	return out
}

func ms(ns int64) string {
	if ns == Absent {
		return "-"
	}
	return fmt.Sprintf("%g", float64(ns)/1e6)
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant:\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestFormats(t *testing.T) {
	tests := []struct {
		name, file string
		plan       runplan.Trace
		want       []string
	}{
		{name: "mooncake: milliseconds", file: "mooncake.jsonl",
			plan: runplan.Trace{Format: runplan.TraceMooncake}, want: []string{
				"0.0 at 0 idle 0 700>60", "1.0 at 0 idle 0 6800>480", "2.0 at 3050 idle 0 2400>310",
				"3.0 at 10500.25 idle 0 720>24", "4.0 at 27400 idle 0 512>800"}},
		{name: "jsonl: the same", file: "mooncake.jsonl",
			plan: runplan.Trace{Format: runplan.TraceJSONL, Limit: 2}, want: []string{
				"0.0 at 0 idle 0 700>60", "1.0 at 0 idle 0 6800>480"}},
		{name: "trace_synthetic: seconds", file: "mooncake.jsonl", plan: runplan.Trace{Format: runplan.TraceSynthetic,
			From: runplan.Duration(10000 * time.Second)}, want: []string{
			"0.0 at 0 idle 0 720>24", "1.0 at 1.689975e+07 idle 0 512>800"}},
		{name: "trace_synthetic: every row is a session", file: "sessions.jsonl",
			plan: runplan.Trace{Format: runplan.TraceSynthetic, Limit: 4}, want: []string{
				"0.0 at 0 idle 0 -1>20", "1.0 at 500000 idle 0 100>10", "2.0 at 2.5e+06 idle 0 200>10",
				"3.0 at 3.5e+06 idle 0 300>-1"}},
		{name: "azure 2023: dates of 100 ns, CRLF, byte order mark", file: "azure2023.csv",
			plan: runplan.Trace{Format: runplan.TraceAzure}, want: []string{
				"0.0 at 0 idle 0 380>40", "1.0 at 4314.5791 idle 0 400>100", "2.0 at 4541.877 idle 0 880>50"}},
		{name: "azure 2024: zones, other columns, another order, quotes, an empty answer", file: "azure2024.csv",
			plan: runplan.Trace{Format: runplan.TraceAzure}, want: []string{
				"0.0 at 0 idle 0 2100>1", "1.0 at 7.405 idle 0 2400>5", "2.0 at 1990 idle 0 80>120"}},
		{name: "sessions become turns, in the order of their starts", file: "sessions.jsonl",
			plan: runplan.Trace{Format: runplan.TraceMooncake}, want: []string{
				"0.0 at 0 idle 0 -1>20", "0.1 at - idle 250.5 -1>-1",
				"1.0 at 500 idle 0 100>10", "1.1 at 2500 idle 1600 200>10", "1.2 at 3500 idle 0 300>-1",
				"2.0 at 1500 idle 0 50>10"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { same(t, tt.file, describe(file(t, tt.file, tt.plan)), tt.want) })
	}
}

func TestContentIsKept(t *testing.T) {
	x := file(t, "sessions.jsonl", runplan.Trace{Format: runplan.TraceMooncake})
	turns, _ := x.Session(0)
	if kind, text := x.Content(&turns[0]); kind != KindPrompt || string(text) != "How high is K2?\n\"In m\", é" {
		t.Errorf("%s %q", kind, text)
	}
	if kind, text := x.Content(&turns[1]); kind != KindMessages ||
		string(text) != `[{"role": "user", "content": "And {Everest}?"}]` {
		t.Errorf("%s %q", kind, text)
	}
	m := file(t, "mooncake.jsonl", runplan.Trace{Format: runplan.TraceMooncake})
	want := [][]uint64{
		{31, 32}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, {0, 50, 51, 52, 53}, {31, 33}, {1<<64 - 1},
	}
	var buf []uint64
	for i := range m.Requests() {
		r := &m.Requests()[i]
		if kind, _ := m.Content(r); kind != KindLengths {
			t.Errorf("request %d is %s", i, kind)
		}
		if buf = m.Blocks(buf, r); !slices.Equal(buf, want[i]) {
			t.Errorf("blocks of request %d: %v, want %v", i, buf, want[i])
		}
	}
	if n := testing.AllocsPerRun(100, func() { buf = m.Blocks(buf, &m.Requests()[1]) }); n != 0 {
		t.Errorf("%v allocations to read blocks", n)
	}
	if s := file(t, "mooncake.jsonl",
		runplan.Trace{Format: runplan.TraceSynthetic}); len(s.Blocks(nil, &s.Requests()[0])) != 0 {
		t.Error("trace_synthetic knows no blocks")
	}
}

func TestTimesSince1970KeepTheirDigits(t *testing.T) {
	x := lines(t, runplan.Trace{Format: runplan.TraceSynthetic}, `{"timestamp": 1762300000.123456789, `+
		`"input_length": 1}`, `{"timestamp": 1762300000.123456791, "input_length": 1}`,
		`{"timestamp": 1762300001.123456789, "input_length": 1}`)
	if got := []int64{x.Requests()[1].At, x.Requests()[2].At}; got[0] != 2 || got[1] != 1e9 {
		t.Errorf("times %v ns, want 2 and 1e9", got)
	}
}

func line(at int, rest string) string {
	return fmt.Sprintf(`{"timestamp": %d, "input_length": 10, "output_length": 10%s}`, at, rest)
}

func TestThePlanChooses(t *testing.T) {
	duration := func(ms int) runplan.Duration { return runplan.Duration(time.Duration(ms) * time.Millisecond) }
	rows := []string{
		line(0, ""), line(100, `, "session_id": "a"`), line(200, ""), line(300, `, "session_id": "a"`),
		line(400, `, "session_id": "a"`), line(500, ""),
	}
	tests := []struct {
		name  string
		plan  runplan.Trace
		rows  []string
		want  []string
		count Count
	}{
		{name: "the window keeps sessions that start in it, and cuts them at its end",
			plan: runplan.Trace{From: duration(100), To: duration(400)}, rows: rows,
			want:  []string{"0.0 at 0 idle 0 10>10", "0.1 at 200 idle 200 10>10", "1.0 at 100 idle 0 10>10"},
			count: Count{Rows: 6, Outside: 3}},
		{name: "a session that began before the window is not continued in it",
			plan: runplan.Trace{From: duration(101)}, rows: rows,
			want: []string{"0.0 at 0 idle 0 10>10", "1.0 at 300 idle 0 10>10"}, count: Count{Rows: 6, Outside: 2, Orphans: 2}},
		{name: "the limit counts rows of the file", plan: runplan.Trace{Limit: 2}, rows: rows,
			want: []string{"0.0 at 0 idle 0 10>10", "1.0 at 100 idle 0 10>10"}, count: Count{Rows: 2}},
		{name: "the scale stretches times and gaps",
			plan: runplan.Trace{TimeScale: 2.5, From: duration(100), To: duration(400)}, rows: rows,
			want:  []string{"0.0 at 0 idle 0 10>10", "0.1 at 500 idle 500 10>10", "1.0 at 250 idle 0 10>10"},
			count: Count{Rows: 6, Outside: 3}},
		{name: "longer inputs are left out, with the turns that follow; longer outputs are cut",
			plan: runplan.Trace{MaxInput: 10, MaxOutput: 4},
			rows: []string{line(0, ""), line(1, `, "input_length": 11`), line(2, `, "session_id": 1`),
				line(3, `, "session_id": 1, "input_length": 11`), line(4, `, "session_id": 1`)},
			want:  []string{"0.0 at 0 idle 0 10>4", "1.0 at 2 idle 0 10>4"},
			count: Count{Rows: 5, TooLong: 2, Orphans: 1, Cut: 2}},
		{name: "rows in any order are played in the order of time",
			rows: []string{line(300, ""), line(100, ""), line(200, `, "input_length": 7`)},
			want: []string{"0.0 at 0 idle 0 10>10", "1.0 at 100 idle 0 7>10", "2.0 at 200 idle 0 10>10"}, count: Count{Rows: 3}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := lines(t, tt.plan, tt.rows...)
			same(t, "requests", describe(x), tt.want)
			if x.Read != tt.count {
				t.Errorf("count %+v, want %+v", x.Read, tt.count)
			}
		})
	}
}

func TestNotesSayWhatIsNotPlayed(t *testing.T) {
	plan := runplan.Trace{MaxInput: 10, MaxOutput: 4, To: runplan.Duration(4 * time.Millisecond)}
	x := lines(t, plan, line(0, ""), line(1, `, "input_length": 11`), line(2, `, "output_length": 0`), line(5, ""))
	want := []string{"1 of 4 requests of the trace are left out: they lie outside of 0s to 4ms",
		"1 of 4 requests of the trace are left out: their input is longer than 10 tokens",
		"1 of 4 requests of the trace ask for 4 output tokens instead of more",
		"1 of 4 requests of the trace have a length of 0: 1 token is asked for"}
	same(t, "notes", x.Notes(plan), want)
}

func TestTurnRules(t *testing.T) {
	x := file(t, "sessions.jsonl", runplan.Trace{Format: runplan.TraceMooncake})
	a, _ := x.Session(1) // turns at 500, 2500, 3500 ms; idle 1600 and 0 ms
	b, _ := x.Session(0) // the second turn has no time, but a delay of 250.5 ms
	const start = 10_000
	tests := []struct {
		name  string
		turn  Request
		rule  string
		ended int64 // ms
		want  float64
	}{
		{name: "recorded: at its time", turn: a[1], rule: runplan.TurnsRecorded, ended: 11_000, want: 12_500},
		{name: "recorded is the default", turn: a[1], ended: 11_000, want: 12_500},
		{name: "recorded: not before the turn before has ended", turn: a[1], rule: runplan.TurnsRecorded,
			ended: 20_000, want: 20_000},
		{name: "idle gap: after the end", turn: a[1], rule: runplan.TurnsIdle, ended: 20_000, want: 21_600},
		{name: "idle gap: none where the turns overlapped", turn: a[2], rule: runplan.TurnsIdle, ended: 20_000, want: 20_000},
		{name: "a turn without a time has its delay", turn: b[1], rule: runplan.TurnsRecorded, ended: 20_000, want: 20_250.5},
	}
	for _, tt := range tests {
		if got := tt.turn.After(tt.rule, start*1e6, tt.ended*1e6); float64(got) != tt.want*1e6 {
			t.Errorf("%s: %d ns, want %v ms", tt.name, got, tt.want)
		}
	}
}

func sends(t *testing.T, x *Trace, s runplan.Stage, k, n int) []schedule.Send {
	t.Helper()
	all, err := x.Schedule(s)
	if err != nil {
		t.Fatal(err)
	}
	part, err := schedule.Shard(all, k, n)
	if err != nil {
		t.Fatal(err)
	}
	var out []schedule.Send
	for send, ok := part.Next(); ok; send, ok = part.Next() {
		out = append(out, send)
	}
	return out
}

func TestATraceIsPlayedAgainAfterItsSpanAndAMeanGap(t *testing.T) {
	x := lines(t, runplan.Trace{Repeat: 3}, line(0, ""), line(100, `, "session_id": "a"`), line(200, ""),
		line(300, `, "session_id": "a"`))
	var got []int64
	for _, s := range sends(t, x, runplan.Stage{}, 0, 1) {
		turns, start := x.Session(s.Index)
		got = append(got, s.At/1e6)
		if s.At != start+turns[0].At || start != x.Play(s.Index)*x.Period {
			t.Errorf("send %+v of a play that starts at %d and a turn at %d", s, start, turns[0].At)
		}
	}
	if want := []int64{0, 100, 200, 400, 500, 600, 800, 900, 1000}; !slices.Equal(got, want) {
		t.Errorf("sends at %v ms, want %v", got, want)
	}
	if n := len(sends(t, x, runplan.Stage{Duration: runplan.Duration(500 * time.Millisecond)}, 0, 1)); n != 4 {
		t.Errorf("%d sends in 500 ms, want 4", n)
	}
	if n := len(sends(t, x, runplan.Stage{Requests: 5}, 0, 1)); n != 5 {
		t.Errorf("%d sends of 5", n)
	}
}

func TestShardsHaveWholeSessions(t *testing.T) {
	var rows []string
	for i := range 200 {
		rows = append(rows, line(i*i%97+i*40, fmt.Sprintf(`, "session_id": %d`, i)))
	}
	x := lines(t, runplan.Trace{Repeat: 2}, rows...)
	whole := sends(t, x, runplan.Stage{}, 0, 1)
	if len(whole) != 400 || x.Sessions() != 400 {
		t.Fatalf("%d sends, %d sessions", len(whole), x.Sessions())
	}
	for _, n := range []int{1, 2, 3, 7, 16} {
		var union []schedule.Send
		for k := range n {
			union = append(union, sends(t, x, runplan.Stage{}, k, n)...)
		}
		slices.SortFunc(union, func(a, b schedule.Send) int { return int(a.Index - b.Index) })
		if !slices.Equal(union, whole) {
			t.Errorf("the union of %d shards is not the whole", n)
		}
	}
}

func TestATraceWithoutTimesHasNoSchedule(t *testing.T) {
	x := lines(t, runplan.Trace{}, line(0, ""), `{"text_input": "a"}`, `{"text_input": "b"}`)
	same(t, "requests", describe(x), []string{"0.0 at 0 idle 0 10>10", "1.0 at - idle 0 -1>-1", "2.0 at - idle 0 -1>-1"})
	if _, err := x.Schedule(runplan.Stage{}); err == nil ||
		!strings.Contains(err.Error(), "line 2 of the trace begins a session and has no timestamp") {
		t.Errorf("error %v", err)
	}
}

func TestMistakesNameTheirLine(t *testing.T) {
	tests := []struct {
		name, format, text, want string
	}{
		{name: "an unknown format", format: "parquet",
			want: `format "parquet" is not one of mooncake, azure, jsonl, trace_synthetic`},
		{name: "no rows", text: "\n\n", want: "no request is left of 0 rows"},
		{name: "not JSON", text: line(0, "") + "\nhello", want: "line 2: it is not a JSON object"},
		{name: "half an object", text: `{"timestamp": 1`, want: "line 1: it is not a JSON object"},
		{name: "two objects on a line", text: `{"input_length": 1} {"input_length": 1}`,
			want: "line 1: it is not a JSON object"},
		{name: "no input", text: `{"timestamp": 1, "output_length": 5}`,
			want: "line 1: it has neither input_length nor text_input nor messages"},
		{name: "a negative time", text: `{"timestamp": -1, "input_length": 5}`, want: `timestamp "-1" is not a number`},
		{name: "a date where a number belongs", text: `{"timestamp": "2024-01-01", "input_length": 5}`,
			want: `timestamp "\"2024-01-01\"" is not a number`},
		{name: "a huge length", text: `{"timestamp": 1, "input_length": 5000000000}`, want: "is too large"},
		{name: "hash ids that are no numbers",
			text: `{"timestamp": 1, "input_length": 5, "hash_ids": ["a"]}`, want: "hash id"},
		{name: "more blocks than input", text: `{"timestamp": 1, "input_length": 512, "hash_ids": [1, 2]}`,
			want: "2 hash_ids stand for 513 to 1024 input tokens, input_length is 512"},
		{name: "fewer blocks than input", text: `{"timestamp": 1, "input_length": 513, "hash_ids": [1]}`,
			want: "1 hash_ids stand for 1 to 512 input tokens, input_length is 513"},
		{name: "a body of another tool", text: `{"timestamp": 1, "payload": {"prompt": "x"}}`,
			want: "payload cannot be replayed"},
		{name: "messages that are none", text: `{"timestamp": 1, "messages": "hi"}`, want: "messages is not a JSON array"},
		{name: "a session that goes back in time", text: line(5, `, "session_id": 1`) + "\n" +
			line(4, `, "session_id": 1`), want: "line 2: its session goes back in time: sort"},
		{name: "azure without its columns", format: runplan.TraceAzure, text: "a,b,c\n1,2,3",
			want: `line 1: the header has no column TIMESTAMP: its columns are "a,b,c"`},
		{name: "azure with another date",
			format: runplan.TraceAzure, text: "TIMESTAMP,ContextTokens,GeneratedTokens\n16/11/2023,2,3",
			want: `line 2: TIMESTAMP "16/11/2023" is not a date`},
		{name: "azure with a short row",
			format: runplan.TraceAzure, text: "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 09:30:12,2",
			want: "line 2: it has 2 columns, fewer than the header"},
		{name: "azure with half a quote", format: runplan.TraceAzure,
			text: "TIMESTAMP,ContextTokens,GeneratedTokens\n\"2023-11-16 09:30:12,2,3",
			want: "line 2: its quotes do not match"},
		{name: "more than a lifetime", text: line(0, "") + "\n" + line(9e12, ""), want: "it lasts longer than 104 days"},
		{name: "an endless delay", text: line(0, `, "session_id": 1`) + "\n" +
			`{"session_id": 1, "input_length": 1, "delay": 9000000000000}`, want: "it lasts longer than 104 days"},
		{name: "a line without an end", text: strings.Repeat(" ", maxLine+2), want: "line 1: longer than 16 MiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.format == "" {
				tt.format = runplan.TraceMooncake
			}
			if _, err := Read(strings.NewReader(tt.text), runplan.Trace{Format: tt.format}); err == nil ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := Read(strings.NewReader(line(0, "")),
		runplan.Trace{Format: runplan.TraceJSONL, TimeScale: -1}); err == nil {
		t.Error("time cannot run backwards")
	}
	_, err := Read(strings.NewReader(line(0, "")+"\n"+line(9, `, "input_length": 99`)), runplan.Trace{
		Format: runplan.TraceJSONL, From: 1e6, MaxInput: 50,
	})
	if want := "no request is left of 2 rows: 1 lie outside of 1ms to the end, 1 are longer " +
		"than max_input"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestDecimals(t *testing.T) {
	tests := []struct {
		text     string
		exponent int
		want     int64
		bad      bool
	}{
		{text: "0", want: 0}, {text: "12", want: 12}, {text: "12", exponent: 6, want: 12_000_000},
		{text: "12.5", exponent: 6, want: 12_500_000},
		{text: "0.0000004", exponent: 6, want: 0}, {text: "0.0000005", exponent: 6, want: 1},
		{text: "655.0", want: 655}, {text: "1e3", exponent: 6, want: 1_000_000_000},
		{text: "1.5E-3", exponent: 6, want: 1500}, {text: "9223372036854775807", bad: true},
		{text: "922337203685477580", want: 922337203685477580},
		{text: "9300000000", exponent: 9, bad: true}, {text: "1e400", bad: true}, {text: "-1", bad: true},
		{text: "", bad: true}, {text: ".", bad: true},
		{text: "1.2.3", bad: true}, {text: "NaN", bad: true}, {text: "Inf", bad: true},
		{text: "99999999999999999999", bad: true},
	}
	for _, tt := range tests {
		if got, ok := decimal([]byte(tt.text), tt.exponent); ok == tt.bad || ok && got != tt.want {
			t.Errorf("decimal(%q, %d) = %d, %v, want %d", tt.text, tt.exponent, got, ok, tt.want)
		}
	}
}
