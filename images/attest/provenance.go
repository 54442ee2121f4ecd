package attest

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ProvenanceType is the media type of an in-toto statement.
const ProvenanceType = "application/vnd.in-toto+json"

// Build says how the image of one program was made.
type Build struct {
	Name     string            // of the image, without a registry: where it will lie is not known yet
	Digests  map[string]string // platform, or "index" for all of them -> sha256:...
	Package  string            // that was compiled, as an import path
	Version  string            // of bflow
	Revision string            // commit of the source, with -dirty where files differed from it; "" when unknown
	Flags    []string          // of go build
	Env      []string          // KEY=value that were set for it
	Modules  []Module
}

type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     predicate  `json:"predicate"`
}

type resource struct {
	Name        string            `json:"name,omitempty"`
	URI         string            `json:"uri,omitempty"`
	Digest      map[string]string `json:"digest,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type predicate struct {
	BuildDefinition definition `json:"buildDefinition"`
	RunDetails      details    `json:"runDetails"`
}

type definition struct {
	BuildType            string         `json:"buildType"`
	ExternalParameters   map[string]any `json:"externalParameters"`
	InternalParameters   map[string]any `json:"internalParameters"`
	ResolvedDependencies []resource     `json:"resolvedDependencies"`
}

type details struct {
	Builder struct {
		ID string `json:"id"`
	} `json:"builder"`
}

// Provenance returns an unsigned in-toto statement with SLSA provenance v1. It names no time and no host: equal builds
// of one commit have equal statements.
func Provenance(b Build) ([]byte, error) {
	st := statement{
		Type:          "https://in-toto.io/Statement/v1",
		PredicateType: "https://slsa.dev/provenance/v1",
		Predicate: predicate{BuildDefinition: definition{
			BuildType:          "https://bflow.dev/images/go/v1",
			ExternalParameters: map[string]any{"package": b.Package, "version": b.Version},
			InternalParameters: map[string]any{"flags": b.Flags, "env": b.Env},
		}},
	}
	st.Predicate.RunDetails.Builder.ID = "https://bflow.dev/images"
	var platforms []string
	for _, platform := range slices.Sorted(maps.Keys(b.Digests)) {
		sum, ok := strings.CutPrefix(b.Digests[platform], "sha256:")
		if !ok {
			return nil, fmt.Errorf("writing provenance of %q: %q is not a digest", b.Name, b.Digests[platform])
		}
		if platform != "index" {
			platforms = append(platforms, platform)
		}
		st.Subject = append(st.Subject, resource{
			Name: b.Name, Digest: map[string]string{"sha256": sum},
			Annotations: map[string]string{"platform": platform},
		})
	}
	st.Predicate.BuildDefinition.ExternalParameters["platforms"] = platforms
	st.Predicate.BuildDefinition.ResolvedDependencies = b.dependencies()
	text, err := json.MarshalIndent(st, "", " ")
	if err != nil {
		return nil, fmt.Errorf("writing provenance of %q: %w", b.Name, err)
	}
	return append(text, '\n'), nil
}

func (b Build) dependencies() []resource {
	var list []resource
	if commit, dirty := strings.CutSuffix(b.Revision, "-dirty"); commit != "" {
		source := resource{Name: "source", Digest: map[string]string{"gitCommit": commit}}
		if dirty {
			source.Annotations = map[string]string{"modified": "true"}
		}
		list = append(list, source)
	}
	for _, m := range b.Modules {
		list = append(list, resource{URI: purl(m), Digest: dirHash(m.Sum)})
	}
	return list
}

// dirHash is a go.sum entry in the form in-toto wants: the same sum in lower-case hex.
func dirHash(sum string) map[string]string {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:"))
	if err != nil || len(raw) == 0 {
		return nil
	}
	return map[string]string{"dirHash": hex.EncodeToString(raw)}
}
