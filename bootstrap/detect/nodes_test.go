package detect_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/bootstrap/detect/detecttest"
	"bflow.dev/bflow/internal/apitest"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the outputs")

func TestNodes(t *testing.T) {
	files, err := filepath.Glob("testdata/nodes/*.input.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c, api := detecttest.Connect(t, apitest.NewWith(t, nil, string(text)))
			nodes, err := c.Nodes(context.Background(), api)
			if err != nil {
				t.Fatal(err)
			}
			got, err := yaml.Marshal(nodes)
			if err != nil {
				t.Fatal(err)
			}
			output := strings.Replace(file, ".input.", ".output.", 1)
			if *update {
				if err := os.WriteFile(output, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(output)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("-want +got; go test ./bootstrap/detect -update rewrites\n%s", diff)
			}
		})
	}
}
