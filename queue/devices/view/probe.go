package view

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"bflow.dev/bflow/internal/bounded"
)

const (
	probeInterval = 10 * time.Second
	probeTimeout  = 5 * time.Second
)

// Reach is whether the API server of a target answers, and since when that is so.
type Reach struct {
	Up    bool
	Since time.Time
	Why   string // what went wrong when it was last asked; "" when it answered
}

// probe asks an API server again and again whether it is there.
type probe struct {
	client *http.Client
	base   *url.URL
	clock  func() time.Time
	tell   func() // after the answer has changed
	wanted chan struct{}

	mu      sync.Mutex
	reach   Reach
	version string
	returns chan struct{} // closed, and made anew, when the server is back
	outage  time.Duration // that ended then
}

func newProbe(cfg *rest.Config, clock func() time.Time, tell func()) (*probe, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.APIPath = "/"
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the API server: %w", err)
	}
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting to the API server: %w", err)
	}
	return &probe{client: client, base: base, clock: clock, tell: tell, wanted: make(chan struct{}, 1),
		returns: make(chan struct{})}, nil
}

func (p *probe) run(ctx context.Context) {
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	for {
		p.ask(ctx)
		select {
		case <-tick.C:
		case <-p.wanted:
		case <-ctx.Done():
			return
		}
	}
}

func (p *probe) ask(ctx context.Context) {
	why := p.answer(ctx)
	if ctx.Err() != nil {
		return
	}
	if p.note(why) {
		if why == "" {
			p.askVersion(ctx)
		}
		p.tell()
	}
}

// note keeps an answer, and says whether it is another one than before.
func (p *probe) note(why string) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.reach
	changed = before.Since.IsZero() || before.Up != (why == "")
	if changed {
		p.reach = Reach{Up: why == "", Since: p.clock()}
	}
	p.reach.Why = why
	if changed && why == "" && !before.Since.IsZero() {
		p.outage = p.reach.Since.Sub(before.Since)
		close(p.returns)
		p.returns = make(chan struct{})
	}
	return changed
}

// returned is closed when the server is back the next time.
func (p *probe) returned() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.returns
}

// lastOutage is how long the last outage took that is over.
func (p *probe) lastOutage() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.outage
}

func (p *probe) answer(ctx context.Context) string {
	res, err := p.get(ctx, "readyz")
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
		return ""
	case http.StatusUnauthorized:
		return "it refuses our credentials (401 Unauthorized): the account was deleted or its token has expired; bflow " +
			"target add with the same name renews them"
	default:
		return "it answers " + res.Status
	}
}

// get asks for a path; the body of what it answers ends with the time of an answer.
func (p *probe) get(ctx context.Context, path string) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base.JoinPath(path).String(), nil)
	if err != nil {
		cancel()
		return nil, err
	}
	res, err := p.client.Do(req)
	if err != nil {
		cancel()
		return nil, err
	}
	res.Body = ending{res.Body, cancel}
	return res, nil
}

// ending is a body whose end ends the time for it.
type ending struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (e ending) Close() error {
	defer e.cancel()
	return e.ReadCloser.Close()
}

// maxVersion bounds what is read of the version of a server.
const maxVersion = 64 << 10

// askVersion keeps the version of the server. One that does not tell has none.
func (p *probe) askVersion(ctx context.Context) {
	res, err := p.get(ctx, "version")
	if err != nil {
		return
	}
	defer res.Body.Close()
	var told struct {
		GitVersion string `json:"gitVersion"`
	}
	if json.NewDecoder(bounded.Reader(res.Body, maxVersion)).Decode(&told) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version = told.GitVersion
}

func (p *probe) serverVersion() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.version
}

func (p *probe) now() Reach {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reach
}
