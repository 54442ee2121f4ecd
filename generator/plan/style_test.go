package plan

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestIdentityIsNotAMatterOfStyle plans the inputs again with keys in another order, other quotes and indentation, and
// comments: hash and digest stay.
func TestIdentityIsNotAMatterOfStyle(t *testing.T) {
	inputs, err := filepath.Glob("testdata/[^b]*.input.yaml")
	if err != nil || len(inputs) < 5 {
		t.Fatalf("%d inputs: %v", len(inputs), err)
	}
	for _, input := range inputs {
		name := filepath.Base(input)
		data, err := os.ReadFile(input)
		if err != nil {
			t.Fatal(err)
		}
		want, problems := planFile(t, name, data, Options{})
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(8) {
			got, problems := planFile(t, name, restyled(t, data, seed), Options{})
			if err := problems.Err(); err != nil || len(got) != len(want) {
				t.Fatalf("%s in style %d: %d plans, %v", name, seed, len(got), err)
			}
			for i := range got {
				if got[i].Hash != want[i].Hash || got[i].Digest != want[i].Digest {
					t.Errorf("%s in style %d: %s has another identity", name, seed, got[i].Name)
				}
			}
		}
	}
}

// restyled writes the same document in another style.
func restyled(t *testing.T, data []byte, seed uint64) []byte {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	restyle(rand.New(rand.NewPCG(seed, 0)), &doc, "")
	var b strings.Builder
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2 + int(seed%4))
	if err := enc.Encode(&doc); err != nil {
		t.Fatal(err)
	}
	return []byte("# another style\n" + b.String())
}

// restyle changes n and what is below it. The order of matrix.axes has a meaning, so it stays.
func restyle(r *rand.Rand, n *yaml.Node, key string) {
	n.LineComment = ""
	switch n.Kind {
	case yaml.MappingNode:
		n.Style = []yaml.Style{0, yaml.FlowStyle}[r.IntN(2)]
		if key != "axes" {
			shufflePairs(r, n)
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			restyle(r, n.Content[i+1], n.Content[i].Value)
		}
	case yaml.ScalarNode:
		if n.Tag == "!!str" {
			n.Style = []yaml.Style{0, yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle}[r.IntN(3)]
		}
		n.HeadComment = "a comment"
	default:
		for _, c := range n.Content {
			restyle(r, c, "")
		}
	}
}

func shufflePairs(r *rand.Rand, n *yaml.Node) {
	pairs := slices.Collect(slices.Chunk(n.Content, 2))
	r.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	n.Content = slices.Concat(pairs...)
}
