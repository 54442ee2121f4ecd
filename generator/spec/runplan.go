package spec

import (
	"bytes"
	"encoding/json"

	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/load"
	"bflow.dev/bflow/runplan"
)

// RunPlan is a resolved plan given as input. Both apiVersion and api_version are read.
type RunPlan struct {
	Doc
	Plan runplan.RunPlan
}

func (l *loader) runPlan(d *Doc) *RunPlan {
	p := &RunPlan{Doc: *d}
	if old := child(d.Root, Seg{Key: "api_version"}); old != nil && child(d.Root, Seg{Key: "apiVersion"}) == nil {
		for i := 0; i < len(d.Root.Content); i += 2 {
			if d.Root.Content[i].Value == "api_version" {
				d.Root.Content[i].Value = "apiVersion"
			}
		}
	}
	version := child(d.Root, Seg{Key: "apiVersion"})
	if version != nil && version.Value != APIVersion && version.Value != APIVersionAlias {
		l.found.Add(d.Problem("apiVersion", "want %q or %q, found %s", APIVersion, APIVersionAlias, scalar.Found(version)))
	}
	text, err := load.Object{Node: d.Root}.MarshalJSON()
	if err == nil {
		dec := json.NewDecoder(bytes.NewReader(text))
		if !l.opt.Lenient {
			dec.DisallowUnknownFields()
		}
		err = dec.Decode(&p.Plan)
	}
	if err != nil {
		l.found.Add(d.Problem("", "reading RunPlan: %v", err))
	} else if p.Plan.Digest != "" {
		if err := runplan.Verify(&p.Plan); err != nil {
			l.found.Add(d.Problem("digest", "%v", err))
		}
	}
	return p
}
