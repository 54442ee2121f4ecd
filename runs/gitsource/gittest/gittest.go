// Package gittest is a real git server with one repository, for tests. It uses git's own HTTP backend.
package gittest

import (
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Repository is one on a real git server.
type Repository struct {
	t    testing.TB
	Dir  string // bare, as the server has it
	Work string // where Commit writes
	URL  string
	Host string // its key among credentials
}

// Serve starts a git server with an empty repository. ask is the password that it wants, "" for none.
func Serve(t testing.TB, ask string) *Repository {
	t.Helper()
	return ServeOn(t, "127.0.0.1", ask)
}

// ServeOn is Serve at an address of this host, for clients elsewhere.
func ServeOn(t testing.TB, address, ask string) *Repository {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git on this machine, whose server this is tried against")
	}
	exe, err := exec.Command(git, "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	backend := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(exe)), "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"}, InheritEnv: []string{"PATH"}}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if _, password, _ := req.BasicAuth(); password != ask {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, req)
	}))
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	srv.Listener.Close()
	srv.Listener = listener
	srv.Start()
	t.Cleanup(srv.Close)
	r := &Repository{t: t, Dir: filepath.Join(root, "team/bench.git"), Work: t.TempDir(), URL: srv.URL + "/team/bench.git",
		Host: strings.ReplaceAll(strings.TrimPrefix(srv.URL, "http://"), ":", "_")}
	r.Git("", "init", "-q", "--bare", "-b", "main", r.Dir)
	r.Git(r.Dir, "config", "uploadpack.allowFilter", "true")
	r.Git("", "clone", "-q", r.Dir, r.Work)
	r.Git(r.Work, "checkout", "-q", "-b", "main")
	return r
}

// Git runs a git command in dir and returns what it says.
func (r *Repository) Git(dir string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Commit writes a file and returns the commit that has it.
func (r *Repository) Commit(name, text string) string {
	r.t.Helper()
	path := filepath.Join(r.Work, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
	r.Git(r.Work, "add", "-A")
	r.Git(r.Work, "commit", "-q", "-m", name)
	return r.Git(r.Work, "rev-parse", "HEAD")
}

// Push makes a ref of the server mean the last commit.
func (r *Repository) Push(to string) { r.Git(r.Work, "push", "-q", "-f", "origin", "HEAD:"+to) }
