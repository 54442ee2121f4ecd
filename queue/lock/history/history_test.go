package history

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func at(second int, e Event) Event {
	e.Time, e.Target = noon.Add(time.Duration(second)*time.Second), "lab"
	return e
}

func started(hub, run, key string, fence int64) Event {
	return Event{Kind: Started, Hub: hub, Run: run, Key: key, Fence: fence, Amounts: map[string]int64{"gpu": 4}}
}

func released(hub, run string) Event { return Event{Kind: Released, Hub: hub, Run: run} }

func TestCheck(t *testing.T) {
	for _, row := range []struct {
		name   string
		events []Event
		opts   Options
		want   string // in the one error; "" for none
	}{
		{name: "two runs of one key go in parallel", events: []Event{
			at(0, started("a", "r1", "k", 1)), at(1, started("a", "r2", "k", 1)), at(2, released("a", "r1")),
			at(3, released("a", "r2"))}},
		{name: "one key after the other", events: []Event{
			at(0, started("a", "r1", "k", 1)), at(2, released("a", "r1")), at(3, started("a", "r2", "l", 2)),
			at(4, released("a", "r2"))}},
		{name: "two keys at once", want: "two setup keys at once", events: []Event{
			at(0, started("a", "r1", "k", 1)), at(1, started("a", "r2", "l", 2)), at(2, released("a", "r1")),
			at(3, released("a", "r2"))}},
		{name: "two hubs exclude each other with one key as well", want: "two setup keys at once", events: []Event{
			at(0, started("a", "r1", "k", 1)), at(1, started("b", "r2", "k", 2)), at(2, released("a", "r1")),
			at(3, released("b", "r2"))}},
		{name: "a takeover fences the runs of the old holder", events: []Event{
			at(0, started("a", "r1", "k", 1)), at(1, Event{Kind: Taken, Hub: "b", From: "a", Fence: 2, Key: "l"}),
			at(2, started("b", "r2", "l", 2)), at(3, released("b", "r2")), at(4, released("a", "r1"))}},
		{name: "and excuses none that acts", want: "two setup keys at once", events: []Event{
			at(0, Event{Kind: Acts, Hub: "a", Run: "r1", Key: "k", Fence: 1}),
			at(1, Event{Kind: Taken, Hub: "b", From: "a", Fence: 2, Key: "l"}),
			at(2, Event{Kind: Acts, Hub: "b", Run: "r2", Key: "l", Fence: 2}), at(3, Event{Kind: Clean, Hub: "b", Run: "r2"}),
			at(4, Event{Kind: Clean, Hub: "a", Run: "r1"})}},
		{name: "runs without a key are in nobody's way", events: []Event{
			at(0, started("a", "r1", "k", 1)), at(1, started("a", "r2", "", 0)), at(2, released("a", "r1")),
			at(3, released("a", "r2"))}},
		{name: "clocks that differ by less than is allowed", opts: Options{Skew: 2 * time.Minute}, events: []Event{
			at(0, started("a", "r1", "k", 1)), at(90, released("a", "r1")), at(10, started("b", "r2", "l", 2)),
			at(200, released("b", "r2"))}},
		{name: "more than the quota",
			want: "more than the quota of 7 gpu is in use: 8, by 12:00:02.000 a started target=lab run=r2, and r1 with 4 " +
				"since 12:00:01.000", events: []Event{
				at(0, Event{Kind: Quota, Hub: "a", Amounts: map[string]int64{"gpu": 7}}),
				at(1, started("a", "r1", "", 0)), at(2, started("a", "r2", "", 0)), at(3, released("a", "r1")),
				at(4, released("a", "r2"))}},
		{name: "a run whose devices are idle gives its quota back before its end", events: []Event{
			at(0, Event{Kind: Quota, Hub: "a", Amounts: map[string]int64{"gpu": 4}}),
			at(1, started("a", "r1", "", 0)), at(2, Event{Kind: Idle, Hub: "a", Run: "r1"}), at(3, started("a", "r2", "", 0)),
			at(4, released("a", "r1")), at(5, released("a", "r2"))}},
		{name: "and once only", want: "more than the quota of 4 gpu", events: []Event{
			at(0, Event{Kind: Quota, Hub: "a", Amounts: map[string]int64{"gpu": 4}}),
			at(1, started("a", "r1", "", 0)), at(2, Event{Kind: Idle, Hub: "a", Run: "r1"}), at(3, started("a", "r2", "", 0)),
			at(4, released("a", "r1")),
			at(5, started("a", "r3", "", 0)), at(6, released("a", "r2")), at(7, released("a", "r3"))}},
		{name: "a quota that shrank after the queue had admitted a run", opts: Options{Lag: 5 * time.Second}, events: []Event{
			at(0, Event{Kind: Quota, Hub: "a", Amounts: map[string]int64{"gpu": 4}}),
			at(1, Event{Kind: Quota, Hub: "a", Amounts: map[string]int64{"gpu": 0}}),
			at(3, started("a", "r1", "", 0)), at(4, released("a", "r1"))}},
		{name: "long after it shrank", opts: Options{Lag: 5 * time.Second}, want: "more than the quota of 0 gpu",
			events: []Event{
				at(0, Event{Kind: Quota, Hub: "a", Amounts: map[string]int64{"gpu": 4}}),
				at(1, Event{Kind: Quota, Hub: "a", Amounts: map[string]int64{"gpu": 0}}),
				at(30, started("a", "r1", "", 0)), at(40, released("a", "r1"))}},
		{name: "a controller that was killed before it told of a release", events: []Event{
			at(0, started("a", "r1", "k", 1)), at(1, Event{Kind: Born, Hub: "a"}), at(2, started("a", "r2", "l", 2)),
			at(3, released("a", "r2"))}},
		{name: "no birth excuses a run that ends later", want: "two setup keys at once", events: []Event{
			at(0, started("a", "r1", "k", 1)), at(1, Event{Kind: Born, Hub: "a"}), at(2, started("a", "r2", "l", 2)),
			at(3, released("a", "r2")), at(4, released("a", "r1"))}},
		{name: "a fence that does not grow", want: "does not grow", events: []Event{
			at(0, Event{Kind: Taken, Hub: "a", Key: "k", Fence: 5}), at(1, Event{Kind: Taken, Hub: "a", Key: "l", Fence: 4})}},
		{name: "a fence of two hubs", want: "is that of two", events: []Event{
			at(0, Event{Kind: Taken, Hub: "a", Key: "k", Fence: 5}), at(1, Event{Kind: Taken, Hub: "b", Key: "k", Fence: 5})}},
		{name: "a run that never ends", want: "it never ends", events: []Event{at(0, started("a", "r1", "k", 1))}},
		{name: "a log that was cut", opts: Options{Open: true}, events: []Event{at(0, started("a", "r1", "k", 1))}},
	} {
		t.Run(row.name, func(t *testing.T) {
			errs := Check(row.events, row.opts)
			if row.want == "" && len(errs) > 0 || row.want != "" &&
				(len(errs) != 1 || !strings.Contains(errs[0].Error(), row.want)) {
				t.Errorf("got %v, want %q", errs, row.want)
			}
		})
	}
}

func TestALogIsReadBackAmongOtherLines(t *testing.T) {
	var text bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&text, nil))
	log.Info("controller starts", "event", "x")
	want := Event{Kind: Started, Hub: "h", Target: "lab", Run: "bench/r", Key: "llm-d/istio/v1", Fence: 7,
		Amounts: map[string]int64{"gpu": 2}}
	Write(log, want)
	text.WriteString("panic: no JSON\n")
	Write(log, Event{Kind: Taken, Hub: "h", Target: "lab", Key: "k", Fence: 8, From: "other"})
	got, err := Read(&text)
	if err != nil || len(got) != 2 {
		t.Fatalf("got %v, %v", got, err)
	}
	if got[0].Time.IsZero() || got[1].From != "other" {
		t.Errorf("got %v", got)
	}
	got[0].Time = time.Time{}
	if fmt.Sprint(got[0]) != fmt.Sprint(want) || got[0].Amounts["gpu"] != 2 {
		t.Errorf("got %v, want %v", got[0], want)
	}
}
