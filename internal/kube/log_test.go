package kube_test

import (
	"slices"
	"testing"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/internal/kube"
)

func TestALogThatIsFollowedOverAnInterruptionRepeatsNoLine(t *testing.T) {
	srv := apitest.New(t, "bench")
	c := connect(t, srv.Config())
	srv.Say("bench", "p", "c", "one", "two")
	of := kube.Log{Namespace: "bench", Pod: "p", Container: "c", Follow: true}
	var got []string
	err := c.ReadLog(eventually.Context(t), of, func(line string) error {
		got = append(got, line)
		switch line {
		case "two":
			go func() {
				srv.Break()
				srv.Say("bench", "p", "c", "three")
				srv.EndLog("bench", "p", "c")
			}()
		}
		return nil
	})
	if err != nil || !slices.Equal(got, []string{"one", "two", "three"}) {
		t.Errorf("got %q, %v", got, err)
	}
}
