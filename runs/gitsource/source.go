// Package gitsource takes a few files out of a git repository, over HTTP and in this process: the experiment that
// somebody names by repository, revision and path. It writes nothing to disk, runs nothing, follows no symbolic link
// and no submodule, and must not know what the files mean.
package gitsource

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Source says which files are wanted.
type Source struct {
	URL         string   // https or http
	Revision    string   // branch, tag or commit; "" = the default branch
	Paths       []string // files, and folders of which every *.yaml counts
	TrustedOnly bool     // only a commit that a branch of the repository itself holds
}

// Options bound what is taken. The zero value is ready to use.
type Options struct {
	Credentials string        // folder with a file per host; see Secret bflow-git
	MaxBytes    int64         // of what the server sends; 0 = 64 MiB
	Timeout     time.Duration // of everything; 0 = 3 minutes
	Transport   http.RoundTripper
}

// Limits of what is taken where options say nothing.
const (
	maxBytes     = 64 << 20
	fetchTimeout = 3 * time.Minute
	maxFile      = 1 << 20 // an experiment is some kilobytes
	maxFiles     = 500
)

func (o Options) withDefaults() Options {
	if o.MaxBytes == 0 {
		o.MaxBytes = maxBytes
	}
	if o.Timeout == 0 {
		o.Timeout = fetchTimeout
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	return o
}

// Files are those of one commit, by their paths in the repository.
type Files struct {
	Commit string // 40 hex digits
	Names  []string
	Text   map[string][]byte
}

// check refuses what cannot be meant, and what must not be written there.
func (s *Source) check() (*url.URL, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, errors.New("it is not a URL; want https://host/path") // the error would repeat what may hold a password
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("%q: want https://host/path", u.Redacted())
	case u.User != nil:
		return nil, fmt.Errorf("the URL holds credentials, which everybody can read; put them into Secret bflow-git "+
			"under key %q", keyOf(u))
	case u.Host == "" || strings.Trim(u.Path, "/") == "" || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%q: want https://host/path and nothing after it", s.URL)
	case len(s.Paths) == 0:
		return nil, errors.New("no path is given; name the file in the repository")
	}
	for i, p := range s.Paths {
		clean := path.Clean(strings.TrimLeft(p, "/"))
		if clean == ".." || strings.HasPrefix(clean, "../") {
			return nil, fmt.Errorf("path %q leads out of the repository", p)
		}
		s.Paths[i] = clean
	}
	return u, nil
}

// keyOf is the name under which the credentials of a server are kept: a key of a Secret has no colon.
func keyOf(u *url.URL) string { return strings.ReplaceAll(u.Host, ":", "_") }

// login reads the credentials of the server of u, none where there are none: each is sent to its own host only.
func (o Options) login(u *url.URL) (user, password string, err error) {
	if o.Credentials == "" {
		return "", "", nil
	}
	text, err := os.ReadFile(filepath.Join(o.Credentials, filepath.Base(keyOf(u))))
	if errors.Is(err, os.ErrNotExist) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("reading the credentials of %s: %w", u.Host, err)
	}
	user, password, both := strings.Cut(strings.TrimSpace(string(text)), ":")
	if !both {
		user, password = "git", user // a token alone: no server reads the name beside it
	}
	return user, password, nil
}
