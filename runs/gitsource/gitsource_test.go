package gitsource

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/runs/gitsource/gittest"
)

func TestRevisions(t *testing.T) {
	r := gittest.Serve(t, "")
	first := r.Commit("a.yaml", "one")
	r.Git(r.Work, "tag", "-a", "v1", "-m", "v1")
	second := r.Commit("a.yaml", "two")
	r.Push("refs/heads/main")
	r.Git(r.Work, "push", "-q", "--tags")
	third := r.Commit("a.yaml", "three")
	r.Push("refs/heads/side")
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
	r := gittest.Serve(t, "")
	r.Commit("bench/first.yaml", "experiment")
	r.Commit("bench/profiles/own.yaml", "profile")
	r.Commit("bench/notes.txt", "no yaml")
	if err := os.Symlink("/etc/passwd", filepath.Join(r.Work, "bench/link.yaml")); err != nil {
		t.Fatal(err)
	}
	r.Commit("large.yaml", strings.Repeat("x", 2*maxFile))
	r.Push("refs/heads/main")
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

// TestOnlyBranchesAreTrusted plays what a server does with forks: their commits lie in the same store, under refs of
// pull requests.
func TestOnlyBranchesAreTrusted(t *testing.T) {
	r := gittest.Serve(t, "")
	r.Git(r.Dir, "config", "uploadpack.allowReachableSHA1InWant", "true")
	old := r.Commit("a.yaml", "one")
	head := r.Commit("a.yaml", "two")
	r.Push("refs/heads/main")
	r.Git(r.Work, "tag", "kept")
	fork := r.Commit("a.yaml", "theirs")
	r.Push("refs/pull/7/head")
	r.Git(r.Work, "push", "-q", "origin", "HEAD:refs/tags/theirs")
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
	r := gittest.Serve(t, "s3cret")
	r.Commit("a.yaml", "one")
	r.Push("refs/heads/main")
	keys := t.TempDir()
	source := Source{URL: r.URL, Paths: []string{"a.yaml"}}
	_, err := Fetch(t.Context(), source, Options{Credentials: keys})
	if err == nil || !strings.Contains(err.Error(), "put a token into Secret bflow-git under key \""+r.Host+"\"") {
		t.Errorf("without any: %v", err)
	}
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(keys, r.Host), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("wrong\n")
	if _, err = Fetch(t.Context(), source, Options{Credentials: keys}); err == nil ||
		!strings.Contains(err.Error(), "rejects the credentials under key") ||
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
	redirect := httptest.NewServer(
		http.RedirectHandler(thief.URL+"/team/bench.git/info/refs?service=git-upload-pack", http.StatusFound))
	defer redirect.Close()
	if err := os.Rename(filepath.Join(keys, r.Host),
		filepath.Join(keys, strings.ReplaceAll(strings.TrimPrefix(redirect.URL, "http://"), ":", "_"))); err != nil {
		t.Fatal(err)
	}
	_, err = Fetch(t.Context(), Source{URL: redirect.URL + "/team/bench.git", Paths: []string{"a.yaml"}},
		Options{Credentials: keys})
	if err == nil || seen != "" {
		t.Errorf("a redirect: %v; the other host saw %q", err, seen)
	}
}

func TestWhatIsNoRepository(t *testing.T) {
	r := gittest.Serve(t, "")
	r.Commit("a.yaml", "one")
	r.Push("refs/heads/main")
	for _, row := range []struct{ name, url, revision, want string }{
		{"another scheme", "ssh://git@example.com/x", "", "want https://host/path"},
		{"a file", "file:///etc", "", "want https://host/path"},
		{"credentials", "https://me:pw@example.com/x", "", `put them into Secret bflow-git under key "example.com"`},
		{"a query", "https://example.com/x?y", "", "nothing after it"},
		{"no repository", r.URL + "x", "", "there is no such repository, or it is private"},
		{"no branch", r.URL, "nowhere", `no branch or tag "nowhere"`},
		{"no commit", r.URL, strings.Repeat("a", 40), "no branch contains commit aaaa"},
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
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		<-req.Context().Done()
	}))
	defer silent.Close()
	_, err = Fetch(t.Context(), Source{URL: silent.URL + "/x", Paths: []string{"a.yaml"}}, Options{Timeout: 1})
	if err == nil || !strings.Contains(err.Error(), "it took more than") {
		t.Errorf("no answer: %v", err)
	}
}
