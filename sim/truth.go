package sim

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// Statuses of a Record.
const (
	StatusComplete  = "complete"  // everything was handed to the kernel
	StatusFailed    = "failed"    // an HTTP error, or an error object in the stream
	StatusEmpty     = "empty"     // a 200 without a token
	StatusEncoded   = "encoded"   // everything was handed to the kernel, compressed although nobody asked
	StatusTruncated = "truncated" // ended without its terminator
	StatusReset     = "reset"     // cut off by us, by a fault or because the server ended
	StatusCancelled = "cancelled" // the client left first
)

// Record is what really happened to one completion request. Times *_ns are CLOCK_MONOTONIC of the host, 0 where the
// thing did not happen.
type Record struct {
	Number        int64    `json:"number"` // of the request, from 0
	RequestID     string   `json:"request_id"`
	Conn          int64    `json:"conn"`
	Port          int64    `json:"port,omitempty"` // of the client, where it came by TCP
	ConnReused    bool     `json:"conn_reused"`
	Path          string   `json:"path"`
	Model         string   `json:"model,omitempty"`
	Stream        bool     `json:"stream"`
	Arrival       int64    `json:"arrival_ns"`      // first byte of the request: received by the kernel, or else read
	ArrivalUnix   int64    `json:"arrival_unix_ns"` // the same moment in Unix time
	ArrivalRead   int64    `json:"arrival_read_ns"` // when our code had the first byte
	Started       int64    `json:"started_ns"`      // left the queue; in model time during and after a freeze
	FirstByte     int64    `json:"first_byte_ns"`   // of the response
	End           int64    `json:"end_ns"`          // last byte given to the kernel, or the moment it was known to be lost
	Events        []int64  `json:"event_ns"`        // send time of every event with tokens, relative to arrival
	EventTokens   []int    `json:"event_tokens"`    // tokens of every such event
	LatenessMax   int64    `json:"lateness_max_ns"` // of its sends
	PromptTokens  int      `json:"prompt_tokens"`
	CachedTokens  int      `json:"cached_tokens"`
	AskedTokens   int      `json:"asked_tokens"`
	OutputTokens  int      `json:"output_tokens"` // sent
	FinishReason  string   `json:"finish_reason,omitempty"`
	Status        string   `json:"status"`
	HTTPStatus    int      `json:"http_status,omitempty"` // 0 = no status line was sent
	Error         string   `json:"error,omitempty"`       // why it was refused
	Faults        []string `json:"faults,omitempty"`      // that were applied
	BlockedWrites int      `json:"blocked_writes,omitempty"`
}

// flushEvery bounds how much of the truth a killed process loses.
const flushEvery = 100 * time.Millisecond

// truth collects records; a goroutine writes them out.
type truth struct {
	keep bool
	file *os.File

	mu      sync.Mutex
	pending []*Record
	kept    []*Record

	spare         sync.Pool // of *Record that nobody knows any more
	stop, stopped chan struct{}
	err           error // of the writer, read after stopped
}

func openTruth(path string, keep bool) (*truth, error) {
	t := &truth{keep: keep, stop: make(chan struct{}), stopped: make(chan struct{})}
	if path == "" {
		close(t.stopped)
		return t, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("opening truth log: %w", err)
	}
	t.file = f
	go t.write()
	return t, nil
}

// blank returns a record to fill.
func (t *truth) blank() *Record {
	if r, ok := t.spare.Get().(*Record); ok {
		return r
	}
	return &Record{Events: []int64{}, EventTokens: []int{}}
}

// add takes a record that is complete, and that its maker must not touch any more.
func (t *truth) add(r *Record) {
	if t.file == nil && !t.keep {
		t.spare.Put(r)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file != nil {
		t.pending = append(t.pending, r)
	}
	if t.keep {
		t.kept = append(t.kept, r)
	}
}

// records returns the records so far, in the order in which the requests ended.
func (t *truth) records() []Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]Record, len(t.kept))
	for i, r := range t.kept {
		all[i] = *r
	}
	return all
}

// close writes what is left and returns the first error of the log.
func (t *truth) close() error {
	select {
	case <-t.stopped:
	default:
		close(t.stop)
		<-t.stopped
	}
	if t.err != nil {
		return fmt.Errorf("writing truth log: %w", t.err)
	}
	return nil
}

func (t *truth) write() {
	defer close(t.stopped)
	w := bufio.NewWriterSize(t.file, 1<<16)
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for running := true; running; {
		select {
		case <-tick.C:
		case <-t.stop:
			running = false
		}
		if err := t.drain(w); t.err == nil {
			t.err = err
		}
	}
	t.err = errors.Join(t.err, t.file.Close())
}

func (t *truth) drain(w *bufio.Writer) error {
	t.mu.Lock()
	batch := t.pending
	t.pending = nil
	t.mu.Unlock()
	for _, r := range batch {
		if _, err := w.Write(r.appendJSON(w.AvailableBuffer())); err != nil {
			return err
		}
		if !t.keep {
			t.spare.Put(r)
		}
	}
	return w.Flush()
}
