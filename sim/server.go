package sim

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/sim/engine"
	"bflow.dev/bflow/sim/pace"
	"bflow.dev/bflow/tasks/step"
)

// ErrCrashed is returned by Serve when the fault "crash" ended the server.
var ErrCrashed = errors.New("crashed by the fault \"crash\"")

// acceptPause is how long a server waits for others to close files when it may open no more.
const acceptPause = 10 * time.Millisecond

// Server is a running simulated engine.
type Server struct {
	cfg     Config
	clock   pace.Clock
	model   engine.Model // on the pacer's thread only
	pacer   *pace.Pacer
	faults  *faults
	truth   *truth
	stats   *stats
	scratch []byte // of the pacer's thread: the bytes of one send
	begun   int64  // monotonic
	ready   int64  // monotonic; before it the engine is not ready

	http2 *http2 // nil without TLS

	requests  atomic.Int64
	crashed   atomic.Bool
	immediate bool
	closing   chan struct{}
	closed    sync.Once

	mu     sync.Mutex
	ln     net.Listener
	conns  map[*conn]struct{}
	nextID int64
	timers []*time.Timer
	wg     sync.WaitGroup
}

// New returns a server that is not yet serving. Close frees what it holds.
func New(cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configuring the engine: %w", err)
	}
	cfg = cfg.filled()
	log, err := openTruth(cfg.TruthLog, cfg.KeepTruth)
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, clock: pace.NewClock(), model: cfg.model(), faults: &faults{seed: uint64(cfg.Seed)},
		immediate: cfg.immediate(), truth: log, stats: newStats(cfg.MaxModelLen), conns: map[*conn]struct{}{},
		closing: make(chan struct{}),
	}
	lead := cfg.TTFT.D()
	if cfg.TTFTStdev > 0 || cfg.batched() {
		lead = 0
	}
	if s.pacer, err = pace.Start(s.clock, s.model, lead); err != nil {
		return nil, errors.Join(err, log.close())
	}
	if cfg.TLS != nil {
		s.http2 = startHTTP2(s)
	}
	s.begun = s.clock.Now()
	s.ready = s.begun + int64(cfg.NotReady)
	for _, f := range cfg.Faults {
		s.Inject(f, s.ready)
	}
	return s, nil
}

// Listen starts a server with an in-memory truth on a free port of 127.0.0.1, or on cfg.Socket. The startup delay of
// cfg is not waited for.
func Listen(cfg Config) (*Server, error) {
	cfg.KeepTruth = true
	s, err := New(cfg)
	if err != nil {
		return nil, err
	}
	network, address := "tcp", "127.0.0.1:0"
	if cfg.Socket != "" {
		network, address = "unix", cfg.Socket
	}
	ln, err := net.Listen(network, address)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listening: %w", err), s.Close())
	}
	s.listenOn(ln)
	s.wg.Go(func() { _ = s.accept(ln) })
	return s, nil
}

// URL returns the base URL of a server that listens.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ln == nil {
		return ""
	}
	return baseURL(s.ln.Addr(), s.cfg.TLS != nil)
}

// baseURL is what clients are told.
func baseURL(a net.Addr, secure bool) string {
	switch {
	case a.Network() == "unix":
		return "unix://" + a.String()
	case secure:
		return "https://" + a.String()
	}
	return "http://" + a.String()
}

// Serve answers connections of ln until ctx ends, which is no error, or the fault "crash" strikes. It closes the
// server.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	s.listenOn(ln)
	stop := step.AfterFunc(ctx, s.hangUp)
	defer stop()
	err := s.accept(ln)
	switch {
	case s.crashed.Load():
		err = ErrCrashed
	case ctx.Err() != nil:
		err = nil
	}
	return errors.Join(err, s.Close())
}

// Close ends all connections and the pacer and completes the truth log. It may be called twice.
func (s *Server) Close() error {
	s.hangUp()
	s.wg.Wait() // the connections hand their streams back while the pacer still runs
	s.closed.Do(s.pacer.Close)
	return s.truth.close()
}

// Truth returns the records of the requests that have ended, in the order of their ends; none without KeepTruth.
func (s *Server) Truth() []Record { return s.truth.records() }

// Now returns the clock of the truth: CLOCK_MONOTONIC in nanoseconds.
func (s *Server) Now() int64 { return s.clock.Now() }

// Inject puts a fault in force, with its times counted from the monotonic time zero. The fault has to be valid.
func (s *Server) Inject(f runplan.Fault, zero int64) {
	s.faults.add(f, zero)
	kind, _ := f.Split()
	switch kind {
	case runplan.FaultFreeze:
		s.callAt(zero+int64(f.After), func() { s.pacer.Freeze(f.Duration.D()) })
	case runplan.FaultCrash:
		s.callAt(zero+int64(f.After), s.crash)
	}
}

// callAt calls f at the monotonic time when.
func (s *Server) callAt(when int64, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timers = append(s.timers, time.AfterFunc(time.Duration(when-s.clock.Now()), func() {
		if s.enter() {
			defer s.wg.Done()
			f()
		}
	}))
}

// enter makes Close wait for a goroutine that it does not start, until that calls wg.Done; false when the server is
// closing.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closing:
		return false
	default:
		s.wg.Add(1)
		return true
	}
}

// listenOn makes ln end with the server, at once where the server has ended already: a crash does not wait for anybody.
func (s *Server) listenOn(ln net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ln = ln
	select {
	case <-s.closing:
		_ = ln.Close()
	default:
	}
}

func (s *Server) accept(ln net.Listener) error {
	for {
		nc, err := ln.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ECONNABORTED):
			time.Sleep(acceptPause)
		case err != nil:
			return fmt.Errorf("accepting a connection: %w", err)
		case !s.open(nc, s.cfg.TLS):
			return nil
		}
	}
}

// open starts a connection, with TLS unless cfg is nil, or returns false when the server is closing.
func (s *Server) open(nc net.Conn, cfg *tls.Config) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closing:
		_ = nc.Close()
		return false
	default:
	}
	c := newConn(s, nc, cfg, s.nextID)
	s.nextID++
	s.conns[c] = struct{}{}
	s.wg.Go(func() {
		c.serve()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.conns, c)
	})
	return true
}

// hangUp stops accepting and breaks every connection.
func (s *Server) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closing:
		return
	default:
		close(s.closing)
	}
	for _, t := range s.timers {
		t.Stop()
	}
	if s.http2 != nil {
		s.http2.hangUp()
	}
	if s.ln != nil {
		_ = s.ln.Close()
	}
	for c := range s.conns {
		c.interrupt()
	}
}

// crash ends the server as if the process had died.
func (s *Server) crash() {
	s.crashed.Store(true)
	s.hangUp()
}
