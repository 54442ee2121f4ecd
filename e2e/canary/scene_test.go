package canary

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bflow.dev/bflow/e2e/product"
)

// garden is where canaries are planted: a place each.
type garden struct {
	mu     sync.Mutex
	places []place
}

// place is where a secret enters. to are those who may know it: the names of servers, and of programs by their
// environment.
type place struct {
	name string
	to   []string
}

// plant returns the canary of a new place.
func (g *garden) plant(name string, to ...string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.places = append(g.places, place{name, to})
	return Word(len(g.places) - 1)
}

// of returns the place of what was found, by the number behind the stem.
func (g *garden) of(found string) place {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := -1
	_, _ = fmt.Sscanf(found[len(stem):], "%03d", &n) // what was cut before its number is of any place
	if n < 0 || n >= len(g.places) {
		return place{name: "a place that cannot be told"}
	}
	return g.places[n]
}

// scene is one installation of bflow whose surroundings hold canaries.
type scene struct {
	*product.Product
	t       *testing.T
	g       *garden
	planted string // folder for what people write and bflow only reads
	servers []*server
	said    []output
	watch   *watch
}

type output struct{ from, text string }

func newScene(t *testing.T, g *garden) *scene {
	t.Helper()
	s := &scene{Product: product.New(t), t: t, g: g, planted: t.TempDir()}
	home := filepath.Join(s.Dir, "home")
	tmp := filepath.Join(s.Dir, "tmp")
	for _, dir := range []string{home, tmp} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.Env = append(s.Env, "HOME="+home, "TMPDIR="+tmp, "KUBECONFIG="+filepath.Join(s.planted, "none"))
	s.watch = watchProcesses(t, s.Runs, filepath.Dir(s.Path))
	return s
}

// serve starts a server, which may know the canaries that are planted for its name.
func (s *scene) serve(name string, handler http.HandlerFunc) *server {
	s.t.Helper()
	server := serve(s.t, name, handler)
	s.servers = append(s.servers, server)
	return server
}

// set adds a variable to the environment of bflow.
func (s *scene) set(name, value string) { s.Env = append(s.Env, name+"="+value) }

// file writes a file that only bflow reads, and returns its path.
func (s *scene) file(name, content string) string {
	s.t.Helper()
	path := filepath.Join(s.planted, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// do runs bflow and keeps what it says.
func (s *scene) do(args ...string) product.Result {
	s.t.Helper()
	got := s.Run(args...)
	s.keep(got, args)
	return got
}

func (s *scene) keep(got product.Result, args []string) {
	what := "bflow " + strings.ReplaceAll(strings.Join(args, " "), s.planted, "")
	if args[0] == "compile" {
		got.Out = withoutSecrets(got.Out)
	}
	s.said = append(s.said, output{"standard output of " + what, got.Out}, output{"standard error of " + what, got.Err})
}

// withoutSecrets leaves the objects out that are there to hold secrets.
func withoutSecrets(objects string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(objects, "\n---\n"), func(object string) bool {
		return strings.Contains("\n"+object, "\nkind: Secret\n")
	}), "\n---\n")
}

// must is do of what has to end with one of the codes.
func (s *scene) must(code int, args ...string) product.Result {
	s.t.Helper()
	got := s.do(args...)
	if got.Code != code {
		s.t.Errorf("bflow %q: exit code %d, want %d:\n%s\n%s", args, got.Code, code, got.Out, got.Err)
	}
	return got
}

// readings are the verbs that only read a run, in each of their forms.
func (s *scene) readings(run string) {
	s.t.Helper()
	for _, verb := range []string{"status", "report"} {
		for _, form := range []string{"table", "json", "yaml"} {
			s.do(verb, "-o", form, run)
		}
	}
	s.do("list", "--local", "-o", "json")
	s.do("list", "--local")
	s.do("logs", run)
	s.do("logs", "--engine", run)
	s.do("watch", "--plain", run)
}

// exports writes a run in every format.
func (s *scene) exports(run string) {
	s.t.Helper()
	offered := s.Run("export", "--format", "", "--generate-bash-completion")
	formats := strings.Fields(offered.Out)
	if len(formats) < 10 {
		s.t.Errorf("only %d formats are known: %s%s", len(formats), offered.Out, offered.Err)
	}
	for _, format := range formats {
		s.do("export", "--format", strings.TrimRight(format, "."), "--out", filepath.Join("exported-"+run, format), run)
	}
}

// check searches everything that came out.
func (s *scene) check() {
	s.t.Helper()
	for _, o := range s.said {
		s.report(o.from, []byte(o.text), "")
	}
	files := 0
	for _, root := range []string{s.Runs, s.Dir} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			files++
			data, err := os.ReadFile(path)
			s.report("file "+path, append([]byte(path+"\n"), data...), "")
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			s.t.Error(err)
		}
	}
	for _, server := range s.servers {
		for _, request := range server.heard() {
			s.report("a request to "+server.name, []byte(request), server.name)
		}
	}
	for _, p := range s.watch.end() {
		s.report("the command line of "+p.program, []byte(p.args), "")
		if p.program != "bflow" { // whose environment is that of the person
			s.report("the environment of "+p.program, []byte(p.env), p.program)
		}
	}
	s.t.Logf("%d outputs and %d files were searched", len(s.said), files)
}

// report fails the test for every canary in data that whoever may not know.
func (s *scene) report(where string, data []byte, whoever string) {
	s.t.Helper()
	for _, found := range Find(data) {
		p := s.g.of(found)
		if whoever != "" && slices.Contains(p.to, whoever) {
			continue
		}
		s.t.Errorf("%s holds %s: that of %s%s", where, found, p.name, around(data, found))
	}
}

// around shows where a canary lies that is not packed.
func around(data []byte, found string) string {
	at := bytes.Index(data, []byte(found))
	if at < 0 {
		return ""
	}
	return fmt.Sprintf(": %q", data[max(0, at-80):min(len(data), at+40)])
}

// watch looks at processes while they run.
type watch struct {
	stop, stopped chan struct{}
	seen          map[string]process
}

type process struct{ program, args, env string }

// watchProcesses keeps the command lines and environments of all processes that know the folder of runs or lie in bin.
func watchProcesses(t *testing.T, runs, bin string) *watch {
	t.Helper()
	w := &watch{stop: make(chan struct{}), stopped: make(chan struct{}), seen: map[string]process{}}
	go func() {
		defer close(w.stopped)
		again := time.NewTicker(20 * time.Millisecond) //nolint:forbidigo // processes come and go without a word: it samples them
		defer again.Stop()
		for {
			w.look([]byte(runs), []byte(bin))
			select {
			case <-w.stop:
				return
			case <-again.C:
			}
		}
	}()
	t.Cleanup(func() { w.end() })
	return w
}

func (w *watch) look(runs, bin []byte) {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is a good one
	for _, dir := range dirs {
		args, _ := os.ReadFile(filepath.Join(dir, "cmdline")) // one that has just ended is nobody's
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if len(args) == 0 { // it is about to be another program, or over
			continue
		}
		if filepath.Base(dir) == fmt.Sprint(os.Getpid()) || !bytes.Contains(args, bin) && !bytes.Contains(env, runs) {
			continue
		}
		program, _, _ := bytes.Cut(args, []byte{0})
		w.seen[dir+string(args)] = process{filepath.Base(string(program)), string(args), string(env)}
	}
}

// end returns what was seen; it may be called again.
func (w *watch) end() []process {
	select {
	case <-w.stop:
	default:
		close(w.stop)
	}
	<-w.stopped
	var all []process
	for _, p := range w.seen {
		all = append(all, p)
	}
	return all
}
