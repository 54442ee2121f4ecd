package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/outbound"
)

// source is a file on its way in.
type source struct {
	name string // for messages: without a query, which may hold a secret
	body io.ReadCloser
	all  io.Reader // body, through sum where there is one
	sum  hash.Hash // nil = nobody asks
	copy *os.File  // of a remote file that cannot be read in order
}

// open begins to read a path or an https:// address.
func open(ctx context.Context, file runplan.File, client *http.Client) (*source, error) {
	var (
		s   *source
		err error
	)
	if strings.Contains(file.URL, "://") {
		s, err = fetch(ctx, file.URL, client)
	} else {
		s, err = local(file.URL)
	}
	if err != nil {
		return nil, err
	}
	if s.all = s.body; file.SHA256 != "" {
		s.sum = sha256.New()
		s.all = io.TeeReader(s.body, s.sum)
	}
	return s, nil
}

func local(where string) (*source, error) {
	f, err := os.Open(where)
	if errors.Is(err, fs.ErrNotExist) && !filepath.IsAbs(where) {
		err = fmt.Errorf("%w: write the whole path, a relative one begins where load-gen runs", err)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the file of prompts: %w", err)
	}
	return &source{name: filepath.Base(where), body: f}, nil
}

func fetch(ctx context.Context, where string, client *http.Client) (*source, error) {
	u, err := url.Parse(where)
	if err != nil || u.Scheme != "https" {
		return nil, errors.New("the file of prompts is named by a path or an https:// address, and by nothing else")
	}
	name := u.Host + u.Path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("fetching %q: %w", name, outbound.WithoutAddress(err))
	}
	if client == nil {
		client = outbound.Download(http.DefaultClient)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("fetching %q: %w", name, outbound.WithoutAddress(err))
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("fetching %q: HTTP %d", name, resp.StatusCode)
	}
	return &source{name: path.Base(u.Path), body: resp.Body}, nil
}

func (s *source) Read(p []byte) (int, error) { return s.all.Read(p) }

// file returns the whole as a file on disk.
func (s *source) file() (*os.File, int64, error) {
	f, ok := s.body.(*os.File)
	if !ok {
		var err error
		if f, err = os.CreateTemp("", "prompts-*"); err != nil {
			return nil, 0, fmt.Errorf("keeping a copy: %w", err)
		}
		s.copy = f
		if _, err = io.Copy(f, s.all); err != nil {
			return nil, 0, fmt.Errorf("keeping a copy: %w", err)
		}
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// verify compares the checksum of the whole file, where one was given.
func (s *source) verify(want string) error {
	if s.sum == nil {
		return nil
	}
	if _, err := io.Copy(io.Discard, s.all); err != nil {
		return fmt.Errorf("reading it to its end, for its checksum: %w", err)
	}
	want = strings.TrimPrefix(strings.ToLower(want), "sha256:")
	if got := hex.EncodeToString(s.sum.Sum(nil)); got != want {
		return fmt.Errorf("its sha256 is %s, the plan says %s: it is another file, or it has changed", got, want)
	}
	return nil
}

func (s *source) close() {
	_ = s.body.Close()
	if s.copy != nil {
		_ = s.copy.Close()
		_ = os.Remove(s.copy.Name())
	}
}
