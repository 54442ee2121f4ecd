package results

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"bflow.dev/bflow/tasks/step"
)

// Subcommand is the argument of binary collect that serves.
const Subcommand = "serve"

// Options are the flags.
type Options struct {
	RunDir string
	Listen string
	Idle   time.Duration
}

// Flags returns the flag set of the subcommand.
func Flags(o *Options) *flag.FlagSet {
	fs := flag.NewFlagSet("collect "+Subcommand, flag.ContinueOnError)
	fs.StringVar(&o.RunDir, "run-dir", "", "run directory (workspace run)")
	fs.StringVar(&o.Listen, "listen", ":8080", "address to serve on")
	fs.DurationVar(&o.Idle, "idle", 5*time.Minute, "end when nothing was asked for so long")
	return fs
}

// Run serves the run directory until nobody has asked for anything for the idle time, or until ctx ends. Neither is an error.
func Run(ctx context.Context, s step.Streams, args []string) error {
	var o Options
	fs := Flags(&o)
	fs.SetOutput(s.Err)
	if err := fs.Parse(args); err != nil {
		return step.Usagef("reading flags: %w", err)
	}
	if err := step.CheckRequired("run-dir", o.RunDir); err != nil {
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
	fmt.Fprintf(s.Err, "collect serve: serving %s on %s until nobody asks for %s\n", o.RunDir, listener.Addr(), o.Idle)
	why, err := serve(ctx, listener, Handler(root), o.Idle)
	if err != nil {
		return fmt.Errorf("serving results: %w", err)
	}
	fmt.Fprintf(s.Err, "collect serve: ended: %s\n", why)
	return nil
}

// serve returns why it ended.
func serve(ctx context.Context, l net.Listener, h http.Handler, idle time.Duration) (string, error) {
	watch := newIdle(idle)
	server := &http.Server{Handler: watch.around(h), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	why := "it was told to end"
	select {
	case err := <-failed:
		return "", err
	case <-watch.over:
		why = fmt.Sprintf("nobody asked for %s", idle)
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(closing); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return why, err
	}
	return why, nil
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
