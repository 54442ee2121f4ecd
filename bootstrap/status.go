package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/bootstrap/apply"
)

// Finding is one object that is not as it should be.
type Finding struct {
	Component string `json:"component"`
	Object    string `json:"object"`
	Problem   string `json:"problem"` // "missing", "differs", "not ready", "left over", "in conflict"
	Detail    string `json:"detail,omitempty"`
}

// State is the state of an installation. It is clean if there are no findings.
type State struct {
	Namespaces []string         `json:"namespaces"` // of runs
	Images     ImageNames       `json:"images"`
	Components []ComponentState `json:"components"`
	Findings   []Finding        `json:"findings"`
}

// ComponentState is the state of one component, or of one target.
type ComponentState struct {
	Name     string `json:"name"`
	Version  string `json:"version"` // of this bflow, or as detected if somebody else installed it
	By       string `json:"by"`
	Objects  int    `json:"objects"`
	Findings int    `json:"findings"`
}

// Status compares the cluster with what should be on it. It only reads, and sends dry runs.
func (h *Hub) Status(ctx context.Context, o Options) (State, error) {
	s, err := h.look(ctx, o)
	if err != nil {
		return State{}, err
	}
	state := State{Namespaces: s.options.Namespaces, Images: imageNames(s), Findings: []Finding{}}
	if len(s.inventory.Parts) == 0 {
		state.Namespaces, state.Images = []string{}, ImageNames{ByDigest: map[string]string{}, ByTag: []string{}}
		state.Findings = append(state.Findings, Finding{Component: "bflow", Object: inventoryRef().String(),
			Problem: "missing",
			Detail:  "bflow is not installed here; use bflow bootstrap --single-cluster"})
		return state, nil
	}
	for _, c := range s.components {
		if e, foreign := isForeign(c, s.options, s.inventory); foreign {
			i := e.Installed()
			state.Components = append(state.Components, ComponentState{Name: c.Definition().Name, Version: i.Version, By: i.By})
		}
	}
	for _, p := range s.parts {
		found, err := h.compare(ctx, p, s)
		if err != nil {
			return state, err
		}
		state.Components = append(state.Components, ComponentState{Name: p.Name, Version: p.Version, By: "bflow",
			Objects: len(p.Objects), Findings: len(found)})
		state.Findings = append(state.Findings, found...)
	}
	return state, nil
}

// compare returns the objects of a part that are missing, changed, not ready, or left over from an earlier version.
func (h *Hub) compare(ctx context.Context, p Part, s survey) ([]Finding, error) {
	var all []Finding
	add := func(ref apply.Ref, problem, detail string) {
		all = append(all, Finding{Component: p.Name, Object: ref.String(), Problem: problem, Detail: detail})
	}
	if have := s.inventory.Settings.Versions[p.Key]; have != p.Version {
		all = append(all, Finding{Component: p.Name, Object: p.Name, Problem: "differs",
			Detail: fmt.Sprintf("%s is installed, this bflow has %s; use bflow bootstrap upgrade", have, p.Version)})
	}
	for _, object := range p.Objects {
		ref := apply.RefOf(object)
		change, err := h.cluster.Apply(ctx, object, apply.Options{DryRun: true, Keep: fieldsToKeep(false)})
		var conflict *apply.ConflictError
		switch {
		case errors.As(err, &conflict):
			add(ref, "in conflict", err.Error())
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			add(ref, "not ready", err.Error())
		case change.Action == apply.Created:
			add(ref, "missing", "")
		case change.Action == apply.Changed:
			add(ref, "differs", change.Diff())
		default:
			if ok, why := p.Ready(change.Before); !ok {
				add(ref, "not ready", why)
			}
		}
	}
	var stale []apply.Ref
	for _, e := range s.inventory.Parts[p.Key] {
		if !slices.ContainsFunc(p.Objects, func(o *unstructured.Unstructured) bool { return apply.RefOf(o) == e.Ref }) {
			stale = append(stale, e.Ref)
		}
	}
	stale, err := h.withoutNeeded(ctx, stale, s.inventory)
	if err != nil {
		return nil, err
	}
	for _, ref := range stale {
		add(ref, "left over", "it is of an earlier installation; use bflow bootstrap upgrade")
	}
	return all, nil
}

// Print writes a state for people.
func (s State) Print(w io.Writer) {
	for _, c := range s.Components {
		mark, word := "✓", "as expected"
		if c.Findings > 0 {
			mark, word = "✗", fmt.Sprintf("%d not as expected", c.Findings)
		}
		if c.By != "bflow" {
			fmt.Fprintf(w, "• %s %s by %s, left unchanged\n", c.Name, c.Version, c.By)
			continue
		}
		fmt.Fprintf(w, "%s %s %s: %d objects, %s\n", mark, c.Name, c.Version, c.Objects, word)
	}
	if n := len(s.Images.ByDigest); n > 0 {
		fmt.Fprintf(w, "• images of Tekton and Kueue that were resolved to digests: %d\n", n)
	}
	if len(s.Images.ByTag) > 0 {
		fmt.Fprintf(w, "• installed by tag: %s\n", strings.Join(s.Images.ByTag, ", "))
	}
	if len(s.Namespaces) > 0 {
		fmt.Fprintf(w, "• namespaces for runs: %s\n", strings.Join(s.Namespaces, ", "))
	}
	for _, f := range s.Findings {
		fmt.Fprintf(w, "  %s: %s\n", f.Object, f.Problem)
		if f.Detail != "" {
			fmt.Fprintf(w, "    %s\n", f.Detail)
		}
	}
}
