package sim

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// flags are the arguments of sim-engine.
type flags struct {
	host, addressFile, config, configJSON, truthLog, apiKeyEnv string
	port, eventBytes                                           int
	models                                                     names
	listen                                                     string
	stamps                                                     bool
	tls                                                        TLSFiles
}

// names is a flag that may be given several times.
type names []string

func (n *names) String() string { return fmt.Sprint(*n) }

func (n *names) Set(v string) error {
	*n = append(*n, v)
	return nil
}

// Command is sim-engine: it serves until ctx ends. The address it listens on goes to s.Out, as a URL on a line of
// its own, and to the address file, as host:port.
func Command(ctx context.Context, s step.Streams, args []string) error {
	f, err := parseFlags(s, args)
	if err != nil {
		return err
	}
	cfg, err := f.load(s.Env)
	if err != nil {
		return step.Exit(contract.ExitUsage, err)
	}
	tuneRuntime(s.Env("GOGC") == "")
	if err := delay(ctx, cfg.Startup.D()); err != nil {
		return err
	}
	srv, err := New(cfg)
	if err != nil {
		return err
	}
	ln, err := f.open(ctx)
	if err != nil {
		return errors.Join(fmt.Errorf("listening: %w", err), srv.Close())
	}
	if err := f.announce(s, ln.Addr(), cfg.TLS != nil); err != nil {
		return errors.Join(err, ln.Close(), srv.Close())
	}
	return srv.Serve(ctx, ln)
}

// open listens where the flags say.
func (f *flags) open(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	if path, ok := strings.CutPrefix(f.listen, "unix:"); ok {
		return lc.Listen(ctx, "unix", strings.TrimPrefix(path, "//"))
	}
	if f.listen != "" {
		return lc.Listen(ctx, "tcp", f.listen)
	}
	return lc.Listen(ctx, "tcp", net.JoinHostPort(f.host, strconv.Itoa(f.port)))
}

func parseFlags(s step.Streams, args []string) (*flags, error) {
	f := &flags{}
	fs := flag.NewFlagSet("sim-engine", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // the caller prints the error, once
	fs.StringVar(&f.host, "host", "127.0.0.1", "host to listen on")
	fs.IntVar(&f.port, "port", 8000, "port to listen on; 0 picks a free port")
	fs.StringVar(&f.addressFile, "address-file", "", "file to write host:port to once the engine listens")
	fs.StringVar(&f.config, "config", "", "JSON file with the fields of engine.sim")
	fs.StringVar(&f.configJSON, "config-json", "", "the same JSON inline")
	fs.Var(&f.models, "model", "served model name; repeatable, the first is the default")
	fs.StringVar(&f.truthLog, "truth-log", "", "file to write one JSON line per request to")
	fs.StringVar(&f.apiKeyEnv, "api-key-env", "",
		"environment variable with the API key that clients must send (default: none required)")
	f.register(fs)
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fs.SetOutput(s.Err)
			fs.Usage()
			return nil, err
		}
		return nil, step.Exit(contract.ExitUsage, err)
	}
	if fs.NArg() > 0 {
		return nil, step.Usagef("unexpected argument %q: see sim-engine --help", fs.Arg(0))
	}
	return f, nil
}

// register adds the flags of the connection and of the events.
func (f *flags) register(fs *flag.FlagSet) {
	fs.StringVar(&f.listen, "listen", "", "host:port or unix:/path to listen on instead of --host and --port")
	fs.StringVar(&f.tls.Cert, "tls-cert", "", "PEM file of the certificate; enables TLS")
	fs.StringVar(&f.tls.Key, "tls-key", "", "PEM file of the private key for --tls-cert")
	fs.StringVar(&f.tls.ClientCA, "tls-client-ca", "", "PEM file of the CA that must have signed client certificates")
	fs.BoolVar(&f.tls.HTTP2, "http2", false, "offer HTTP/2 over TLS")
	fs.BoolVar(&f.stamps, "event-stamps", true, "add the send time to every event")
	fs.IntVar(&f.eventBytes, "event-bytes", 0,
		"pad chat and completion events of one token to this many bytes; 0 for no padding")
}

// load makes the configuration that the flags ask for.
func (f *flags) load(env func(string) string) (Config, error) {
	cfg := Config{
		Models: f.models, TruthLog: f.truthLog, Pod: env("POD_NAME"), NoStamps: !f.stamps, EventBytes: f.eventBytes,
	}
	var err error
	if cfg.TLS, err = f.tls.Load(); err != nil {
		return cfg, err
	}
	switch {
	case f.config != "" && f.configJSON != "":
		return cfg, errors.New("--config and --config-json exclude each other")
	case f.config != "":
		cfg.Sim, err = readFile(f.config)
	case f.configJSON != "":
		cfg.Sim, err = ReadConfig([]byte(f.configJSON))
	default:
		cfg.Sim = runplan.Sim{}
	}
	if err != nil {
		return cfg, err
	}
	if f.apiKeyEnv != "" {
		if cfg.APIKey = env(f.apiKeyEnv); cfg.APIKey == "" {
			return cfg, fmt.Errorf("--api-key-env: variable %q is not set", f.apiKeyEnv)
		}
	}
	return cfg, cfg.Validate()
}

// announce tells where the engine listens: the file gets host:port or the path of the socket.
func (f *flags) announce(s step.Streams, a net.Addr, secure bool) error {
	if f.addressFile != "" {
		if err := durable.WriteFile(f.addressFile, []byte(a.String()+"\n")); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(s.Out, baseURL(a, secure))
	return err
}

// tuneRuntime gives the pacer a processor of its own beside the others, so that it never waits for one, and, unless
// the user has set how, collects garbage rarely.
func tuneRuntime(garbage bool) {
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	if garbage {
		debug.SetGCPercent(400)
	}
}

// delay waits for d or the end of ctx.
func delay(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
