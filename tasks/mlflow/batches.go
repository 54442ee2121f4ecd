package mlflow

import (
	"context"
	"encoding/json"
	"fmt"
)

// Limits of one log-batch call: the server refuses more.
const (
	maxPoints = 1000
	maxParams = 100
	maxTags   = 100
	// maxBytes is below the documented 1 MB, which the server does not enforce but proxies in front of it may.
	maxBytes = 900_000
)

// batch is the body of one log-batch call.
type batch struct {
	RunID   string  `json:"run_id"`
	Metrics []Point `json:"metrics,omitempty"`
	Params  []Pair  `json:"params,omitempty"`
	Tags    []Pair  `json:"tags,omitempty"`
}

// batches splits what is to be logged. Each call carries one kind, so that the joint limit of 1000 never binds.
func batches(runID string, r *Replay) []batch {
	var out []batch
	for _, part := range chunk(r.Params, maxParams, pairSize) {
		out = append(out, batch{RunID: runID, Params: part})
	}
	for _, part := range chunk(r.Points, maxPoints, func(Point) int { return 400 }) {
		out = append(out, batch{RunID: runID, Metrics: part})
	}
	for _, part := range chunk(r.Tags, maxTags, pairSize) {
		out = append(out, batch{RunID: runID, Tags: part})
	}
	return out
}

// pairSize is what a pair takes in JSON.
func pairSize(p Pair) int {
	data, err := json.Marshal(p)
	if err != nil {
		return len(p.Key) + 6*len(p.Value)
	}
	return len(data) + 1
}

// chunk cuts items into runs of at most n that stay below maxBytes by size.
func chunk[T any](items []T, n int, size func(T) int) [][]T {
	var out [][]T
	begin, bytes := 0, 0
	for i, item := range items {
		s := size(item)
		if i > begin && (i-begin == n || bytes+s > maxBytes) {
			out = append(out, items[begin:i])
			begin, bytes = i, 0
		}
		bytes += s
	}
	if begin < len(items) {
		out = append(out, items[begin:])
	}
	return out
}

// log sends everything. It may be repeated: equal points, params and tags are stored once.
func (c *Client) log(ctx context.Context, runID string, r *Replay) error {
	for i, b := range batches(runID, r) {
		if err := c.post(ctx, fmt.Sprintf("logging batch %d", i+1), "runs/log-batch", b, nil); err != nil {
			return err
		}
	}
	return nil
}
