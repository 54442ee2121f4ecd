// Package structtest checks that the structs of a tool's format hold a recorded file of the tool: what is read and
// written again says the same, but for what a test names with its reason.
package structtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"bflow.dev/bflow/report/tools"
)

// Lost are patterns of whole paths, such as `benchmarks\[\]\.environment`, of members that are not kept, each with its
// reason. A member below such a path is not kept either.
type Lost map[string]string

// Document reads a file whose long lists are told by long, and returns what it holds too.
func Document(t *testing.T, path string, long tools.Long) (*tools.Document, []byte) {
	t.Helper()
	doc, err := tools.OpenDocument(t.Context(), path, t.TempDir(), long)
	if err == nil {
		err = doc.Broken
	}
	var whole bytes.Buffer
	if err == nil {
		err = doc.Write(t.Context(), &whole)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &doc, whole.Bytes()
}

// Written returns what a file of an export holds.
func Written(t *testing.T, f tools.File) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := f.Write(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Compare fails t for each member that two JSON texts do not agree on, and for a row of lost that no difference needs.
func Compare(t *testing.T, recorded, written []byte, lost Lost) {
	t.Helper()
	var want, got any
	for text, v := range map[*[]byte]*any{&recorded: &want, &written: &got} {
		if err := json.Unmarshal(*text, v); err != nil {
			t.Fatal(err)
		}
	}
	c := comparison{lost: map[*regexp.Regexp]bool{}}
	for pattern := range lost {
		c.lost[regexp.MustCompile("^(?:"+pattern+")$")] = false
	}
	c.compare("", want, got)
	for _, text := range slices.Sorted(maps.Keys(c.differences)) {
		t.Errorf("%s: %s", text, c.differences[text])
	}
	for pattern, needed := range c.lost {
		if !needed {
			t.Errorf("%s is kept: remove the row", pattern)
		}
	}
}

type comparison struct {
	lost        map[*regexp.Regexp]bool // whether a difference was found under it
	differences map[string]string       // the first at each path
}

func (c *comparison) compare(path string, want, got any) {
	if reflect.DeepEqual(want, got) {
		return
	}
	for pattern := range c.lost {
		if pattern.MatchString(path) {
			c.lost[pattern] = true
			return
		}
	}
	a, object := want.(map[string]any)
	b, both := got.(map[string]any)
	if object && both {
		names := maps.Clone(a)
		maps.Copy(names, b)
		for name := range names {
			c.member(path, name, a, b)
		}
		return
	}
	x, list := want.([]any)
	y, both := got.([]any)
	if list && both && len(x) == len(y) {
		for i := range x {
			c.compare(path+"[]", x[i], y[i])
		}
		return
	}
	c.differ(path, fmt.Sprintf("recorded %v, written %v", want, got))
}

// absent stands for a member that is not there, which differs from null.
type absent struct{}

func (c *comparison) member(path, name string, want, got map[string]any) {
	if path != "" {
		path += "."
	}
	one := func(of map[string]any) any {
		if v, ok := of[name]; ok {
			return v
		}
		return absent{}
	}
	c.compare(path+name, one(want), one(got))
}

func (c *comparison) differ(path, text string) {
	if c.differences == nil {
		c.differences = map[string]string{}
	}
	if _, known := c.differences[path]; !known {
		c.differences[path] = text
	}
}
