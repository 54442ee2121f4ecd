package loadgen

import (
	"context"
	"net/url"

	"bflow.dev/bflow/tasks/loadgen/client"
	"bflow.dev/bflow/tasks/loadgen/loop"
	"bflow.dev/bflow/tasks/loadgen/record"
	"bflow.dev/bflow/tasks/outbound"
	"bflow.dev/bflow/tasks/step"
)

// connect makes the loop and the line to the server; it returns what undoes it.
func (m *measurement) connect() (disconnect func(), err error) {
	if m.loop, err = loop.New(m.anchor); err != nil {
		return nil, err
	}
	proxy, err := m.proxy()
	if err != nil {
		m.loop.Close()
		return nil, err
	}
	if m.plan.API.HTTP2 || proxy != nil {
		m.line = client.NewFallback(m.loop, m.server, &m.api, connectTimeout(m.plan.API), proxy)
	} else {
		m.line = client.NewPool(m.loop, m.server, connectTimeout(m.plan.API))
	}
	return func() { m.line.Close(); m.loop.Close() }, nil
}

// proxy returns the proxy on the way to the server, nil where there is none.
func (m *measurement) proxy() (*url.URL, error) {
	if m.server.Network == "unix" {
		return nil, nil
	}
	return outbound.Proxy(m.base(), &m.whole.Deployment, m.plan.API, m.Env)
}

// warmUp opens connections until n are open, and waits for it.
func (m *measurement) warmUp(ctx context.Context, n int) error {
	var failed error
	done := false
	m.line.Warm(n, func(err error) { done, failed = true, err })
	m.await(ctx, func() bool { return done })
	return failed
}

// await runs the loop until ok or the end of ctx.
func (m *measurement) await(ctx context.Context, ok func() bool) {
	stop := step.AfterFunc(ctx, func() { m.loop.Post(func() {}) })
	defer stop()
	for !ok() && ctx.Err() == nil {
		m.loop.Wait(m.loop.Now()+100e6, false)
	}
}

// put puts one request outside the load and waits for its end.
func (m *measurement) put(ctx context.Context, api *client.API, body []byte, idPrefix string, o *record.Outcome) {
	room := api.HeadRoom(idPrefix)
	buf := append(make([]byte, room, room+len(body)), body...)
	over := false
	x := &client.Exchange{API: api, Outcome: o, IDPrefix: idPrefix, Budget: client.NewBudget(),
		Over: func() { over = true }}
	x.Message, x.BodyFrom = api.Message(buf, room, idPrefix, o)
	deadline := m.loop.Now() + int64(requestTimeout(m.plan.API))
	m.line.Put(x)
	m.await(ctx, func() bool {
		if now := m.loop.Now(); !over && now > deadline {
			x.GiveUp(client.ErrDeadline, now)
		}
		return over
	})
	if !over {
		x.GiveUp(client.ErrCanceled, m.loop.Now())
	}
}
