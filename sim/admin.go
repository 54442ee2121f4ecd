package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"bflow.dev/bflow/runplan"
)

// Stats is what GET /sim/stats answers: how well the engine keeps its own deadlines.
type Stats struct {
	Uptime        float64  `json:"uptime_s"`
	Requests      int64    `json:"requests"`
	Events        int64    `json:"events"` // sends with tokens
	Tokens        int64    `json:"generation_tokens"`
	BlockedWrites int64    `json:"blocked_writes"`
	Lateness      Lateness `json:"send_lateness"` // since the start or the last DELETE /sim/stats
	CPU           float64  `json:"cpu_s"`
	RunDelay      float64  `json:"run_delay_s"`
	PacerRunDelay float64  `json:"pacer_run_delay_s"`
}

// Lateness is the distribution of actual minus due send time, in nanoseconds.
type Lateness struct {
	Count int64 `json:"count"`
	P50   int64 `json:"p50_ns"`
	P99   int64 `json:"p99_ns"`
	P999  int64 `json:"p999_ns"`
	Max   int64 `json:"max_ns"`
}

// Stats returns the statistics so far.
func (s *Server) Stats() Stats {
	u, late := s.usage(), s.stats.latenessFine.Load()
	return Stats{
		Uptime: float64(s.clock.Now()-s.begun) / 1e9, Requests: s.requests.Load(),
		Events: s.stats.events.Load(), Tokens: s.stats.generation.Load(), BlockedWrites: s.stats.blocked.Load(),
		Lateness: Lateness{
			Count: late.n.Load(), P50: late.quantile(.5), P99: late.quantile(.99), P999: late.quantile(.999),
			Max: late.max.Load(),
		},
		CPU: u.CPU, RunDelay: u.RunDelay, PacerRunDelay: u.PacerRunDelay,
	}
}

// ResetLateness starts the distribution of lateness over.
func (s *Server) ResetLateness() { s.stats.latenessFine.Store(&fineHistogram{}) }

// admin serves what is under /sim/. These endpoints need no API key and answer during a freeze.
func (x *exchange) admin() bool {
	s := x.srv
	switch x.route {
	case "GET /sim/stats":
		return x.json(s.Stats())
	case "DELETE /sim/stats":
		s.ResetLateness()
		return x.plain(200, "text/plain", nil)
	case "GET /sim/faults":
		return x.json(s.faults.list())
	case "DELETE /sim/faults":
		s.faults.clear()
		return x.plain(200, "text/plain", nil)
	case "POST /sim/faults":
		list, err := parseFaults(x.req.Body)
		if err != nil {
			return x.fail(400, "", err.Error())
		}
		for _, f := range list {
			s.Inject(f, s.clock.Now())
		}
		return x.json(s.faults.list())
	}
	return x.fail(404, "", "no endpoint "+x.route)
}

// parseFaults reads one fault or a list of faults.
func parseFaults(body []byte) ([]runplan.Fault, error) {
	var list []runplan.Fault
	var err error
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		err = decodeStrict(body, &list)
	} else {
		list = make([]runplan.Fault, 1)
		err = decodeStrict(body, &list[0])
	}
	if err != nil {
		return nil, fmt.Errorf("reading faults: %w", err)
	}
	var errs []error
	for _, f := range list {
		errs = append(errs, f.Validate())
	}
	return list, errors.Join(errs...)
}

// decodeStrict reads one JSON value into v; unknown keys and data after it are errors.
func decodeStrict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if dec.More() {
		return errors.New("data after the JSON value")
	}
	return nil
}
