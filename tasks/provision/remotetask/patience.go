package remotetask

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"bflow.dev/bflow/results/transfer"
	"bflow.dev/bflow/tasks/provision/cluster"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	firstPause = 250 * time.Millisecond
	mostPause  = 10 * time.Second
	sayEvery   = time.Minute
	// unready is how long a server that has just begun may refuse what it will allow: it does not know its roles yet.
	unready = time.Minute
)

// patience goes on asking a target that does not answer, and says so once a minute. It may be used side by side.
type patience struct {
	target string
	limit  time.Duration
	say    func(format string, args ...any)
	now    func() time.Time
	pause  func(attempt int) time.Duration // nil = doubling up to ten seconds

	mu    sync.Mutex
	since time.Time // the first failure after which nothing has succeeded, zero where all is well
	told  time.Time // when it was said last
}

// hear takes in how a request went; nil is an answer, and so is a refusal that will stay.
func (p *patience) hear(err error) {
	if err != nil && !passing(err) {
		err = nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	switch {
	case err == nil && !p.told.IsZero():
		p.say("target %q answers again, after %s", p.target, now.Sub(p.since).Round(time.Second))
		p.since, p.told = time.Time{}, time.Time{}
	case err == nil:
		p.since = time.Time{}
	case p.since.IsZero():
		p.since = now
	case now.Sub(p.since) >= sayEvery && now.Sub(p.told) >= sayEvery:
		p.say("target %q has not answered for %s: %v; retrying", p.target, now.Sub(p.since).Round(time.Second), cause(err))
		p.told = now
	}
}

// cause is what went wrong with a request, without the request.
func cause(err error) error {
	if failed := new(url.Error); errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// out says whether the target does not answer now.
func (p *patience) out() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.since.IsZero()
}

// overdue is for how long the target has not answered, where that is longer than anybody waits; else 0.
func (p *patience) overdue() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if gone := p.now().Sub(p.since); !p.since.IsZero() && gone > p.limit {
		return gone
	}
	return 0
}

// again is transfer.Again: it repeats do until it succeeds, until what it says will stay so, or until the patience is
// over.
func (p *patience) again(ctx context.Context, do func() error) error {
	begin := p.now()
	for attempt := 0; ; attempt++ {
		err := do()
		if err == nil {
			p.hear(nil)
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		waited := p.now().Sub(begin)
		if !passing(err) && (!isForbidden(err) || waited > unready) {
			return err
		}
		if p.hear(err); waited > p.limit {
			return fmt.Errorf("target %q has not answered for %s: %w", p.target, waited.Round(time.Second), err)
		}
		select {
		case <-time.After(p.wait(attempt)):
		case <-ctx.Done():
			return err
		}
	}
}

func (p *patience) wait(attempt int) time.Duration {
	if p.pause != nil {
		return p.pause(attempt)
	}
	return min(mostPause, firstPause<<min(attempt, 10))
}

// code is the status of an answer, 0 where there was none.
func code(err error) int {
	var api apierrors.APIStatus
	var files *transfer.StatusError
	switch {
	case errors.As(err, &files):
		return files.Code
	case errors.As(err, &api):
		return int(api.Status().Code)
	default:
		return 0
	}
}

// passing says whether the same request may be answered otherwise in a moment. A token that is not taken may be one
// that is about to be replaced.
func passing(err error) bool {
	switch c := code(err); {
	case errors.Is(err, cluster.ErrEnding):
		return true
	case transfer.NoRoom(err):
		return false
	case c == 0, c == http.StatusUnauthorized, c == http.StatusTooManyRequests, c == http.StatusRequestTimeout:
		return true
	default:
		return c >= 500 && c != http.StatusInsufficientStorage || c < 400
	}
}

func isForbidden(err error) bool { return code(err) == http.StatusForbidden }
