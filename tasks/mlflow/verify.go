package mlflow

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// verify reads the run back and compares: an answer of 200 does not mean that everything was stored.
func (c *Client) verify(ctx context.Context, runID string, r *Replay) error {
	run, err := c.Run(ctx, runID)
	if err != nil {
		return err
	}
	if err := compare("param", r.Params, run.Data.Params); err != nil {
		return fmt.Errorf("checking run %s at %s: %w", runID, c.Base, err)
	}
	if err := compare("tag", r.Tags, run.Data.Tags); err != nil {
		return fmt.Errorf("checking run %s at %s: %w", runID, c.Base, err)
	}
	if err := c.verifyPoints(ctx, run, r.Points); err != nil {
		return fmt.Errorf("checking run %s at %s: %w", runID, c.Base, err)
	}
	return nil
}

// compare says what of want is missing from, or different in, got. Further pairs are somebody else's business.
func compare(kind string, want, got []Pair) error {
	held := map[string]string{}
	for _, p := range got {
		held[p.Key] = p.Value
	}
	for _, p := range want {
		switch value, ok := held[p.Key]; {
		case !ok:
			return fmt.Errorf("%s %q was sent and is not there", kind, p.Key)
		case value != p.Value:
			return fmt.Errorf("%s %q is %q there, sent was %q", kind, p.Key, clip(value, 80), clip(p.Value, 80))
		}
	}
	return nil
}

// verifyPoints compares every series point by point. A series of one point is the latest of its key, which the run
// carries already; longer ones are asked for.
func (c *Client) verifyPoints(ctx context.Context, run *ServerRun, points []Point) error {
	series := map[string]map[Point]bool{}
	for _, p := range points {
		if series[p.Key] == nil {
			series[p.Key] = map[Point]bool{}
		}
		series[p.Key][p] = true
	}
	for _, key := range slices.Sorted(maps.Keys(series)) {
		held := run.Data.Metrics
		if len(series[key]) > 1 {
			var err error
			if held, err = c.History(ctx, run.Info.RunID, key); err != nil {
				return err
			}
		}
		missing := maps.Clone(series[key])
		for _, p := range held {
			delete(missing, p)
		}
		if len(missing) > 0 {
			return fmt.Errorf("metric %q: %d of the %d points sent are not there", key, len(missing), len(series[key]))
		}
	}
	return nil
}
