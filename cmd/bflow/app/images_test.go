package app

import (
	"testing"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/images"
)

// TestImagesAreCalledAsRunsCallThem: where a plan names no image, compile makes up the name that images build gives.
func TestImagesAreCalledAsRunsCallThem(t *testing.T) {
	if images.LocalPrefix != compile.DefaultImagePrefix {
		t.Errorf("prefix %q and %q", images.LocalPrefix, compile.DefaultImagePrefix)
	}
	for _, version := range []string{"dev", "v0.1.0", "v0.1.0-3-gabc1234-dirty", "v1.0.0+build.7"} {
		if a, b := images.Tag(version), compile.Tag(version); a != b {
			t.Errorf("%s: tags %q and %q", version, a, b)
		}
	}
}
