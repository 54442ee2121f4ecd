package queue_test

import (
	"testing"

	"bflow.dev/bflow/internal/leakcheck"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	leakcheck.Main(m)
}
