package view

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

const (
	probeEvery  = 10 * time.Second
	probeAnswer = 5 * time.Second
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
	url    string
	clock  func() time.Time
	tell   func() // after the answer has changed

	mu    sync.Mutex
	reach Reach
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
	return &probe{client: client, url: base.JoinPath("readyz").String(), clock: clock, tell: tell}, nil
}

func (p *probe) run(ctx context.Context) {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		p.ask(ctx)
		select {
		case <-tick.C:
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
	p.mu.Lock()
	changed := p.reach.Since.IsZero() || p.reach.Up != (why == "")
	if changed {
		p.reach = Reach{Up: why == "", Since: p.clock()}
	}
	p.reach.Why = why
	p.mu.Unlock()
	if changed {
		p.tell()
	}
}

func (p *probe) answer(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, probeAnswer)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, nil)
	if err != nil {
		return err.Error()
	}
	res, err := p.client.Do(req)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return "it answers " + res.Status
	}
	return ""
}

func (p *probe) now() Reach {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reach
}
