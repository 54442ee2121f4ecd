package results

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"bflow.dev/bflow/tasks/step"
)

// Subcommand is the argument of binary collect that serves.
const Subcommand = "serve"

// Options are the flags.
type Options struct {
	RunDir    string
	Listen    string
	Idle      time.Duration
	TokenFile string        // of the token that every request needs
	TokenSum  string        // of a token that only whoever asks has, in its place
	Receive   bool          // take files in until told to end
	Linger    time.Duration // after a signal, for what is still to be fetched
}

// Flags returns the flag set of the subcommand.
func Flags(o *Options) *flag.FlagSet {
	fs := flag.NewFlagSet("collect "+Subcommand, flag.ContinueOnError)
	fs.StringVar(&o.RunDir, "run-dir", "", "run directory (workspace run)")
	fs.StringVar(&o.Listen, "listen", ":8080", "address to serve on")
	fs.DurationVar(&o.Idle, "idle", 5*time.Minute, "exit after this long without a request")
	fs.StringVar(&o.TokenFile, "token-file", "", "file with the token that every request must send in "+HeaderToken)
	fs.StringVar(&o.TokenSum, "token-sha256", "", "SHA-256 of that token in hexadecimal, instead of --token-file")
	fs.BoolVar(&o.Receive, "receive", false, "receive files; exiting without a request to do so is a failure")
	fs.DurationVar(&o.Linger, "linger", 0, "keep serving for this long after a signal, or until asked to exit")
	return fs
}

// check refuses what would let anybody read or write.
func (o *Options) check() error {
	if err := step.CheckRequired("run-dir", o.RunDir); err != nil {
		return err
	}
	if (o.TokenFile == "") == (o.TokenSum == "") {
		return step.Usagef("reading flags: one of --token-file and --token-sha256 is needed")
	}
	return nil
}

// TokenSum is what a server needs of a token to know it again: it may stand in an argument, where a token may not.
func TokenSum(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// token returns the sum of the token that is asked for.
func (o *Options) token() (string, error) {
	if o.TokenSum != "" {
		if raw, err := hex.DecodeString(o.TokenSum); err != nil || len(raw) != sha256.Size {
			return "", step.Usagef("reading flags: --token-sha256 is no SHA-256 in hexadecimal")
		}
		return strings.ToLower(o.TokenSum), nil
	}
	data, err := os.ReadFile(o.TokenFile)
	if err != nil {
		return "", fmt.Errorf("reading the token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return "", fmt.Errorf("reading the token: %q is empty", o.TokenFile)
	}
	return TokenSum(token), nil
}

// Run serves the run directory until nobody has asked for anything for the idle time, until it is told to end, or until
// ctx ends. None is an error, but where files are taken in: a task must not begin without them.
func Run(ctx context.Context, s step.Streams, args []string) error {
	var o Options
	fs := Flags(&o)
	fs.SetOutput(s.Err)
	if err := fs.Parse(args); err != nil {
		return step.Usagef("reading flags: %w", err)
	}
	if err := o.check(); err != nil {
		return err
	}
	token, err := o.token()
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(o.RunDir)
	if err != nil {
		return fmt.Errorf("opening the run directory: %w", err)
	}
	defer root.Close()
	listener, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("serving results: %w", err)
	}
	fmt.Fprintf(s.Err, "collect serve: serving %s on %s until no request arrives for %s\n", o.RunDir,
		listener.Addr(), o.Idle)
	told := make(chan struct{})
	h := Guarded(root, token, o.Receive, sync.OnceFunc(func() { close(told) }))
	why, err := serving{idle: o.Idle, linger: o.Linger, told: told}.run(ctx, listener, h)
	if err != nil {
		return fmt.Errorf("serving results: %w", err)
	}
	fmt.Fprintf(s.Err, "collect serve: ended: %s\n", why)
	if o.Receive && why != whyTold {
		return fmt.Errorf("receiving files: %s before all had arrived", why)
	}
	return nil
}

// Guarded serves the files below root to those who have the token of that sum (TokenSum), takes files in where receive
// says so, and calls end when it is told that nothing more is wanted.
func Guarded(root *os.Root, sum string, receive bool, end func()) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", Handler(root))
	mux.HandleFunc("POST "+PathEnd, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		end()
	})
	if receive {
		u := &receiver{root: root}
		mux.HandleFunc("GET "+PathUploads+"{path...}", u.upload)
		mux.HandleFunc("PUT "+PathUploads+"{path...}", u.upload)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != PathHealth &&
			subtle.ConstantTimeCompare([]byte(TokenSum(r.Header.Get(HeaderToken))), []byte(sum)) != 1 {
			http.Error(w, "the token is missing or wrong", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// Why a server ended.
const (
	whyTold   = "all that was wanted is there"
	whySignal = "it was asked to end"
)

// idleGrace is how long a server that was told to end by a signal waits for somebody who still wants something.
const idleGrace = 10 * time.Second

// serving is how long a server goes on.
type serving struct {
	idle, linger time.Duration
	told         <-chan struct{}
}

// run returns why it ended.
func (v serving) run(ctx context.Context, l net.Listener, h http.Handler) (string, error) {
	watch := newIdle(v.idle)
	defer watch.stop()
	server := &http.Server{Handler: watch.around(h), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	var late <-chan time.Time
	var why string
	for signal := ctx.Done(); why == ""; {
		select {
		case err := <-failed:
			return "", err
		case <-watch.over:
			why = fmt.Sprintf("no request arrived for %s", watch.limit())
		case <-v.told:
			why = whyTold
		case <-late:
			why = whySignal
		case <-signal:
			signal, late = nil, time.After(v.linger)
			watch.shorten(min(v.idle, idleGrace))
		}
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := server.Shutdown(closing)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close() // whoever still reads has had the time
	}
	<-failed // with http.ErrServerClosed
	return why, err
}

// idle notices when nothing is being served for a while.
type idle struct {
	after time.Duration
	over  chan struct{}

	mu     sync.Mutex
	active int
	timer  *time.Timer
}

func newIdle(after time.Duration) *idle {
	w := &idle{after: after, over: make(chan struct{})}
	end := sync.OnceFunc(func() { close(w.over) })
	w.timer = time.AfterFunc(after, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.active == 0 { // a request may have come while the timer fired
			end()
		}
	})
	return w
}

func (w *idle) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Stop()
}

func (w *idle) limit() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.after
}

// shorten lets the server end sooner when nothing is asked for.
func (w *idle) shorten(after time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.after = after
	if w.active == 0 {
		w.timer.Reset(after)
	}
}

func (w *idle) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != PathHealth { // the kubelet asks that for as long as the pod lives
			w.begin()
			defer w.end()
		}
		next.ServeHTTP(rw, r)
	})
}

func (w *idle) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.active++
	w.timer.Stop()
}

func (w *idle) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.active--; w.active == 0 {
		w.timer.Reset(w.after)
	}
}
