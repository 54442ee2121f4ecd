package resolve

import (
	"io"
	"testing"
)

// zeros has no end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestAnInputWithoutAnEndIsRefused(t *testing.T) {
	for _, name := range []string{"-", "/dev/zero"} {
		if data, err := reader(t.Context(), zeros{}, io.Discard)(name); err == nil ||
			err.Error() != "it is longer than 16 MiB" || len(data) > 0 {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
	}
}
