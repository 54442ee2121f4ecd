package loadgen

import (
	"context"
)

// prepare finds out how to write prompts for the server.
func (m *measurement) prepare(ctx context.Context) error {
	return nil
}
