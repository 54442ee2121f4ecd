package sim

import (
	"crypto/subtle"
	"fmt"
	"strings"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/sim/wire"
)

// handle answers req, whose first byte came at the monotonic time arrival and was read at read. It returns whether the
// connection can serve another request; a stream may still be running then.
func (c *conn) handle(req *wire.Request, read, arrival int64) bool {
	c.x = exchange{conn: c, req: req, read: read, arrival: arrival}
	x := &c.x
	if req.ID == "" {
		req.ID = fmt.Sprintf("%016x", mix(uint64(read)^uint64(c.id)<<48))
	}
	x.ans = wire.Answer{Style: wire.Style{Close: req.Close}, Pod: c.srv.cfg.Pod, RequestID: req.ID}
	if strings.HasPrefix(req.Path, "/sim/") {
		x.route = req.Method + " " + req.Path
		return x.admin()
	}
	c.thaw()
	route, forModel := wire.Route{}, false
	if req.Method == "POST" {
		route, forModel = wire.RouteOf(req.Path)
		x.ans.API = route.API
	}
	if status, message := x.whyUnavailable(); status != 0 {
		return x.fail(status, "", message)
	}
	if forModel {
		return x.complete(route)
	}
	return x.serve()
}

// serve answers what is not for the model.
func (x *exchange) serve() bool {
	x.route = x.req.Method + " " + x.req.Path
	switch x.route {
	case "GET /metrics":
		return x.plain(200, "text/plain; version=0.0.4; charset=utf-8", x.srv.metrics())
	case "GET /v1/models":
		return x.models()
	case "GET /health", "GET /ping", "GET /v2/health/live", "GET /v2/health/ready":
		return x.plain(200, "text/plain", nil)
	case "GET /info":
		return x.info()
	case "GET /version":
		return x.json(map[string]string{"version": Version})
	case "POST /tokenize":
		return x.tokenize()
	case "POST /reset_prefix_cache":
		x.srv.pacer.Do(func(int64) { x.srv.model.ResetCache() })
		return x.plain(200, "text/plain", nil)
	}
	if model, verb, ok := wire.TritonModel(x.req.Path); ok && x.req.Method == "GET" {
		return x.tritonModel(model, verb)
	}
	return x.fail(404, "", "no endpoint "+x.route)
}

// Version is what /version answers: the engine version whose API and metrics are simulated.
const Version = "0.26.0+sim"

// thaw waits for the end of a freeze.
func (c *conn) thaw() {
	for {
		left := c.srv.pacer.Thaw() - c.srv.clock.Now()
		if left <= 0 || c.ending.Load() {
			return
		}
		c.pause(duration(left))
	}
}

// whyUnavailable returns why the request is not served, status 0 when it is.
func (x *exchange) whyUnavailable() (status int, message string) {
	s := x.srv
	now := s.clock.Now()
	if x.req.Path == "/metrics" {
		return 0, ""
	}
	if _, unready := s.faults.server(runplan.FaultNotReady, now); unready || now < s.ready {
		return 503, "the engine is not ready yet"
	}
	if s.cfg.APIKey == "" || !strings.HasPrefix(x.req.Path, "/v1/") {
		return 0, ""
	}
	if subtle.ConstantTimeCompare([]byte(x.req.Authorization), []byte("Bearer "+s.cfg.APIKey)) != 1 {
		return 401, "missing or wrong API key"
	}
	return 0, ""
}
