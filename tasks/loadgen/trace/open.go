package trace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/outbound"
)

// Open reads the trace of a plan from its path or https address. Where the plan has a checksum, the bytes must have it.
func Open(ctx context.Context, plan runplan.Trace) (*Trace, error) {
	return open(ctx, outbound.Download(http.DefaultClient), plan)
}

func open(ctx context.Context, client *http.Client, plan runplan.Trace) (*Trace, error) {
	source, err := fetch(ctx, client, plan.URL)
	if err != nil {
		return nil, fmt.Errorf("opening trace %q: %w", shown(plan.URL), err)
	}
	defer source.Close()
	sum := sha256.New()
	t, err := Read(io.TeeReader(source, sum), plan)
	// Another file than the plan's explains every other mistake, so it is looked for first.
	if plan.SHA256 != "" {
		if _, rest := io.Copy(sum, source); rest != nil {
			return nil, fmt.Errorf("reading trace %q: %w", shown(plan.URL), rest)
		}
		if got := hex.EncodeToString(sum.Sum(nil)); !strings.EqualFold(got, plan.SHA256) {
			return nil, fmt.Errorf("reading trace %q: its sha256 is %s, the plan has %s: the file has changed",
				shown(plan.URL), got, plan.SHA256)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading trace %q: %w", shown(plan.URL), err)
	}
	return t, nil
}

func fetch(ctx context.Context, client *http.Client, url string) (io.ReadCloser, error) {
	if !strings.Contains(url, "://") {
		f, err := os.Open(url)
		if errors.Is(err, fs.ErrNotExist) && !filepath.IsAbs(url) {
			err = fmt.Errorf("%w: write the whole path, a relative one begins where load-gen runs", err)
		}
		return f, err
	}
	if !strings.HasPrefix(url, "https://") {
		return nil, fmt.Errorf("it is neither a path nor an https:// address")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, outbound.WithoutAddress(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, outbound.WithoutAddress(err)
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("the server says %s", resp.Status)
	}
	return resp.Body, nil
}

// shown is an address without what gives access to it.
func shown(url string) string {
	if !strings.Contains(url, "://") {
		return url
	}
	url, _, _ = strings.Cut(url, "?")
	scheme, rest, _ := strings.Cut(url, "://")
	host, path, _ := strings.Cut(rest, "/")
	return scheme + "://" + host[strings.LastIndexByte(host, '@')+1:] + "/" + path
}
