package collect

import (
	"os"
	"path/filepath"
	"testing"

	"bflow.dev/bflow/runplan/contract"
)

func TestEngineAndLoadMayShareANode(t *testing.T) {
	for _, row := range []struct {
		name, endpoint, node string
		want                 bool
	}{
		{"on a host nobody asks", `{"nodes":["a"]}`, "", false},
		{"the same node", `{"nodes":["a","b"]}`, "b", true},
		{"other nodes", `{"nodes":["a"]}`, "b", false},
		{"nothing was deployed", "", "a", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			if row.endpoint != "" {
				path := filepath.Join(dir, contract.FileEndpoint)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(row.endpoint), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := colocated(dir, row.node); got != row.want || err != nil {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}
