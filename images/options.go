package images

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Options say what to build. Source and Version are needed.
type Options struct {
	Source    string    // folder of bflow's source, see FindSource
	Version   string    // compiled into the programs; names the tag
	Prefix    string    // registry and folder of the image names; "" = LocalPrefix
	Platforms []string  // such as linux/amd64; empty = Platforms()
	Only      []string  // names of binaries; empty = all
	Progress  io.Writer // one line per step; nil = silent
}

// LocalPrefix begins the names of images that no registry holds: they are loaded into nodes.
const LocalPrefix = "localhost/bflow"

// Platforms are those of a release.
func Platforms() []string { return []string{"linux/amd64", "linux/arm64"} }

var versionWords = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,62}$`)

// check returns o with its defaults filled in.
func (o Options) check() (Options, error) {
	if !versionWords.MatchString(o.Version) {
		return o, fmt.Errorf(
			"building images of version %q: want letters, digits, dots, dashes and plus signs, at most 63", o.Version)
	}
	if o.Prefix == "" {
		o.Prefix = LocalPrefix
	}
	o.Prefix = strings.TrimRight(o.Prefix, "/")
	if len(o.Platforms) == 0 {
		o.Platforms = Platforms()
	}
	for _, p := range o.Platforms {
		if !slices.Contains(Platforms(), p) {
			return o, fmt.Errorf("building images for %q: want %s", p, strings.Join(Platforms(), " or "))
		}
	}
	o.Platforms = slices.Compact(slices.Sorted(slices.Values(o.Platforms)))
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	return o, nil
}

// Tag is a version as an image tag, which cannot hold the "+" of a build's metadata.
func Tag(version string) string { return strings.ReplaceAll(version, "+", "-") }

// platform reads OS/ARCHITECTURE.
func platform(s string) v1.Platform {
	system, arch, _ := strings.Cut(s, "/")
	return v1.Platform{OS: system, Architecture: arch}
}
