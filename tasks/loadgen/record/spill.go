package record

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"bflow.dev/bflow/internal/durable"
)

// Spill holds the outcomes of one stage on disk. Its memory is a few buffers, whatever the number of outcomes. Add is
// called from one goroutine; Sync, Err and Failed from any.
type Spill struct {
	path   string
	prefix string
	f      *os.File

	mu    sync.Mutex // of what follows
	cur   []byte
	words lexicon
	given int // buffers that the writer got
	added int // outcomes
	ended bool

	full    chan []byte // to the writer
	free    chan []byte // back from it
	written sync.WaitGroup
	done    struct {
		sync.Mutex
		*sync.Cond
		buffers int // that the writer is done with
	}

	err     atomic.Pointer[error]
	failed  chan struct{}
	stalls  atomic.Int64
	stalled atomic.Int64 // ns
}

// Buffers between Add and the disk: while one is filled, others are written.
const (
	spillBuffer  = 256 << 10
	spillBuffers = 4
)

// CreateSpill starts the spill file at path, of requests whose ids begin with idPrefix.
func CreateSpill(path, idPrefix string) (*Spill, error) {
	f, err := durable.CreateGrowing(path)
	if err != nil {
		return nil, fmt.Errorf("creating spill file: %w", err)
	}
	s := &Spill{path: path, prefix: idPrefix, f: f, full: make(chan []byte, spillBuffers),
		free:   make(chan []byte, spillBuffers),
		failed: make(chan struct{})}
	for range spillBuffers - 1 {
		s.free <- make([]byte, 0, spillBuffer)
	}
	s.cur = binary.LittleEndian.AppendUint32(make([]byte, 0, spillBuffer), uint32(len(idPrefix)))
	s.cur = append(s.cur, idPrefix...)
	s.done.Cond = sync.NewCond(&s.done.Mutex)
	s.written.Go(s.write)
	return s, nil
}

// Add adds o, which it does not keep. It blocks only while the disk is slower than the load, see Stalls. After the
// first error of writing it does nothing.
func (s *Spill) Add(o *Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err.Load() != nil {
		return
	}
	if need := o.room() + s.words.room(o); cap(s.cur)-len(s.cur) < need {
		s.hand()
		if cap(s.cur) < need { // an answer of very many events
			s.cur = make([]byte, 0, need)
		}
	}
	var words [5]uint64
	s.cur, words = s.words.number(s.cur, o)
	s.cur = o.appendTo(s.cur, words)
	s.added++
}

// hand gives the buffer to the writer and takes another.
func (s *Spill) hand() {
	if len(s.cur) == 0 {
		return
	}
	s.given++
	s.full <- s.cur // has room for all buffers
	select {
	case s.cur = <-s.free:
	default:
		from := time.Now()
		s.cur = <-s.free
		s.stalls.Add(1)
		s.stalled.Add(int64(time.Since(from)))
	}
}

// write writes buffers until there are no more. After an error it only takes them.
func (s *Spill) write() {
	for b := range s.full {
		if s.err.Load() == nil {
			if _, err := s.f.Write(b); err != nil {
				s.abort(err)
			}
		}
		if cap(b) > spillBuffer {
			b = make([]byte, 0, spillBuffer)
		}
		s.free <- b[:0]
		s.done.Lock()
		s.done.buffers++
		s.done.Unlock()
		s.done.Broadcast()
	}
}

func (s *Spill) abort(err error) {
	err = fmt.Errorf("spilling requests: %w", err)
	s.err.Store(&err)
	close(s.failed)
}

// Sync hands everything added so far to the kernel, so that a kill does not lose it.
func (s *Spill) Sync() {
	s.mu.Lock()
	if !s.ended {
		s.hand()
	}
	given := s.given
	s.mu.Unlock()
	s.done.Lock()
	for s.done.buffers < given {
		s.done.Wait()
	}
	s.done.Unlock()
}

// Err returns the first error of writing.
func (s *Spill) Err() error {
	if err := s.err.Load(); err != nil {
		return *err
	}
	return nil
}

// Failed is closed at the first error of writing, so that a full disk ends the load in order.
func (s *Spill) Failed() <-chan struct{} { return s.failed }

// Stalls returns how often and how long Add waited for the disk.
func (s *Spill) Stalls() (n int, d time.Duration) {
	return int(s.stalls.Load()), time.Duration(s.stalled.Load())
}

// close ends the writing; nothing is added after it.
func (s *Spill) close() error {
	s.mu.Lock()
	if !s.ended {
		s.hand()
		s.ended = true
		close(s.full)
	}
	s.mu.Unlock()
	s.written.Wait()
	s.cur = nil
	return s.Err()
}

// Remove closes and deletes the file.
func (s *Spill) Remove() error {
	s.Close()
	return os.Remove(s.path)
}

// Close ends the writing and leaves the file as it is, for the next attempt. It does nothing after Remove or Keep.
func (s *Spill) Close() {
	_ = s.close() // its error was told by Err, or nobody needs what was added
	_ = s.f.Close()
}
