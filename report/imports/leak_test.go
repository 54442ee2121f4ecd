package imports

import (
	"testing"

	"bflow.dev/bflow/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }
