package gitsource

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository is one on a real git server.
type repository struct {
	t    *testing.T
	dir  string // bare, as the server has it
	work string
	URL  string
	host string
}

// serve starts a git server with an empty repository. ask is the password that it wants, "" for none.
func serve(t *testing.T, ask string) *repository {
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
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if _, password, _ := req.BasicAuth(); password != ask {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, req)
	}))
	t.Cleanup(srv.Close)
	r := &repository{t: t, dir: filepath.Join(root, "team/bench.git"), work: t.TempDir(), URL: srv.URL + "/team/bench.git",
		host: strings.ReplaceAll(strings.TrimPrefix(srv.URL, "http://"), ":", "_")}
	r.run("", "init", "-q", "--bare", "-b", "main", r.dir)
	r.run(r.dir, "config", "uploadpack.allowFilter", "true")
	r.run("", "clone", "-q", r.dir, r.work)
	r.run(r.work, "checkout", "-q", "-b", "main")
	return r
}

func (r *repository) run(dir string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes a file and returns the commit that has it.
func (r *repository) commit(name, text string) string {
	r.t.Helper()
	path := filepath.Join(r.work, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
	r.run(r.work, "add", "-A")
	r.run(r.work, "commit", "-q", "-m", name)
	return r.run(r.work, "rev-parse", "HEAD")
}

func (r *repository) push(to string) { r.run(r.work, "push", "-q", "-f", "origin", "HEAD:"+to) }

func TestRevisions(t *testing.T) {
	r := serve(t, "")
	first := r.commit("a.yaml", "one")
	r.run(r.work, "tag", "-a", "v1", "-m", "v1")
	second := r.commit("a.yaml", "two")
	r.push("refs/heads/main")
	r.run(r.work, "push", "-q", "--tags")
	third := r.commit("a.yaml", "three")
	r.push("refs/heads/side")
	for _, row := range []struct{ name, revision, commit, text string }{
		{"the default branch", "", second, "two"},
		{"a branch", "side", third, "three"},
		{"a branch in full", "refs/heads/side", third, "three"},
		{"a tag with a message", "v1", first, "one"},
		{"the head of a branch by its commit", third, third, "three"},
		{"a commit that no ref names", first, first, "one"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f, err := Fetch(t.Context(), Source{URL: r.URL, Revision: row.revision, Paths: []string{"a.yaml"}}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if f.Commit != row.commit || string(f.Text["a.yaml"]) != row.text {
				t.Errorf("commit %s, text %q; want %s, %q", f.Commit, f.Text["a.yaml"], row.commit, row.text)
			}
		})
	}
}

func TestFilesAndFolders(t *testing.T) {
	r := serve(t, "")
	r.commit("bench/first.yaml", "experiment")
	r.commit("bench/profiles/own.yaml", "profile")
	r.commit("bench/notes.txt", "no yaml")
	if err := os.Symlink("/etc/passwd", filepath.Join(r.work, "bench/link.yaml")); err != nil {
		t.Fatal(err)
	}
	r.commit("large.yaml", strings.Repeat("x", 2*maxFile))
	r.push("refs/heads/main")
	take := func(paths ...string) (*Files, error) {
		return Fetch(t.Context(), Source{URL: r.URL, Paths: paths}, Options{})
	}
	f, err := take("/bench/first.yaml", "bench")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(f.Names); got != "[bench/first.yaml bench/profiles/own.yaml]" {
		t.Errorf("got %s: want the file, then what else is in the folder, without the link and the text", got)
	}
	for _, row := range []struct{ name, path, want string }{
		{"a file that is not there", "bench/second.yaml", `there is no file "bench/second.yaml"`},
		{"a link", "bench/link.yaml", "symbolic link or a submodule"},
		{"a way through a link", "bench/link.yaml/x", "there is no file"},
		{"a way out", "../etc/passwd", "leads out of the repository"},
		{"a way out and in", "bench/../../x", "leads out of the repository"},
		{"a large file", "large.yaml", "is larger than 1024 KiB"},
		{"a folder without one", "bench/none", "there is no file"},
	} {
		if _, err := take(row.path); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", row.name, err, row.want)
		}
	}
}

// TestOnlyBranchesAreTrusted plays what a server does with forks: their commits lie in the same store, under refs of pull
// requests.
func TestOnlyBranchesAreTrusted(t *testing.T) {
	r := serve(t, "")
	r.run(r.dir, "config", "uploadpack.allowReachableSHA1InWant", "true")
	old := r.commit("a.yaml", "one")
	head := r.commit("a.yaml", "two")
	r.push("refs/heads/main")
	r.run(r.work, "tag", "kept")
	fork := r.commit("a.yaml", "theirs")
	r.push("refs/pull/7/head")
	r.run(r.work, "push", "-q", "origin", "HEAD:refs/tags/theirs")
	for _, row := range []struct {
		name, revision string
		refused        bool
	}{
		{"the head of a branch", head, false},
		{"the name of a branch", "main", false},
		{"a commit in the history of a branch", old, false},
		{"the commit of a fork", fork, true},
		{"the ref of a fork", "refs/pull/7/head", true},
		{"a tag on a commit of a fork", "theirs", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			source := Source{URL: r.URL, Revision: row.revision, Paths: []string{"a.yaml"}, TrustedOnly: true}
			_, err := Fetch(t.Context(), source, Options{})
			var untrusted *UntrustedError
			if errors.As(err, &untrusted) != row.refused || !row.refused && err != nil {
				t.Errorf("got %v", err)
			}
			source.TrustedOnly = false
			if _, err := Fetch(t.Context(), source, Options{}); err != nil {
				t.Errorf("where everything is trusted: %v", err)
			}
		})
	}
}

func TestCredentialsGoToTheirHostOnly(t *testing.T) {
	r := serve(t, "s3cret")
	r.commit("a.yaml", "one")
	r.push("refs/heads/main")
	keys := t.TempDir()
	source := Source{URL: r.URL, Paths: []string{"a.yaml"}}
	_, err := Fetch(t.Context(), source, Options{Credentials: keys})
	if err == nil || !strings.Contains(err.Error(), "put a token into Secret bflow-git under key \""+r.host+"\"") {
		t.Errorf("without any: %v", err)
	}
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(keys, r.host), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("wrong\n")
	if _, err = Fetch(t.Context(), source, Options{Credentials: keys}); err == nil || !strings.Contains(err.Error(), "refuses the credentials under key") ||
		strings.Contains(err.Error(), "wrong") {
		t.Errorf("a wrong one: %v", err)
	}
	for _, text := range []string{"s3cret\n", "me:s3cret"} {
		write(text)
		if _, err := Fetch(t.Context(), source, Options{Credentials: keys}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	seen := ""
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		seen += req.Header.Get("Authorization")
		w.WriteHeader(http.StatusNotFound)
	}))
	defer thief.Close()
	redirect := httptest.NewServer(http.RedirectHandler(thief.URL+"/team/bench.git/info/refs?service=git-upload-pack", http.StatusFound))
	defer redirect.Close()
	if err := os.Rename(filepath.Join(keys, r.host), filepath.Join(keys, strings.ReplaceAll(strings.TrimPrefix(redirect.URL, "http://"), ":", "_"))); err != nil {
		t.Fatal(err)
	}
	_, err = Fetch(t.Context(), Source{URL: redirect.URL + "/team/bench.git", Paths: []string{"a.yaml"}}, Options{Credentials: keys})
	if err == nil || seen != "" {
		t.Errorf("a redirect: %v; the other host saw %q", err, seen)
	}
}

func TestWhatIsNoRepository(t *testing.T) {
	r := serve(t, "")
	r.commit("a.yaml", "one")
	r.push("refs/heads/main")
	for _, row := range []struct{ name, url, revision, want string }{
		{"another scheme", "ssh://git@example.com/x", "", "want https://host/path"},
		{"a file", "file:///etc", "", "want https://host/path"},
		{"credentials", "https://me:pw@example.com/x", "", `put them into Secret bflow-git under key "example.com"`},
		{"a query", "https://example.com/x?y", "", "nothing after it"},
		{"no repository", r.URL + "x", "", "there is no such repository, or it is private"},
		{"no branch", r.URL, "nowhere", `no branch or tag "nowhere"`},
		{"no commit", r.URL, strings.Repeat("a", 40), "no branch holds commit aaaa"},
	} {
		_, err := Fetch(t.Context(), Source{URL: row.url, Revision: row.revision, Paths: []string{"a.yaml"}}, Options{})
		if err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), ":pw@") {
			t.Errorf("%s: got %v, want %q", row.name, err, row.want)
		}
	}
	_, err := Fetch(t.Context(), Source{URL: r.URL, Paths: []string{"a.yaml"}}, Options{MaxBytes: 200})
	if err == nil || !strings.Contains(err.Error(), "are more than") {
		t.Errorf("too much: %v", err)
	}
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }))
	defer silent.Close()
	_, err = Fetch(t.Context(), Source{URL: silent.URL + "/x", Paths: []string{"a.yaml"}}, Options{Timeout: 1})
	if err == nil || !strings.Contains(err.Error(), "it took more than") {
		t.Errorf("no answer: %v", err)
	}
}
