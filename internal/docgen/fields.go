package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"bflow.dev/bflow/generator/spec"
)

// writeFields writes a table for every object of every kind. An object that was written before is named instead.
func writeFields(w io.Writer) error {
	r := reference{seen: map[string]string{}}
	r.text.WriteString("# Fields of the files\n\n`*` marks a field whose list makes an axis of the matrix; a field " +
		"in bold is required. " +
		"A duration has a unit (h, m, s, ms). `bflow explain PATH` prints the same.\n")
	for _, kind := range []string{"experiment", "deploymentprofile", "benchmarkprofile",
		"metricsprofile", "reportmetrics"} {
		if err := r.writeObject(kind); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, r.text.String())
	return err
}

// reference is the page so far.
type reference struct {
	text strings.Builder
	seen map[string]string // fields of an object -> path where they were written
}

// writeObject writes the object at path, then those below it.
func (r *reference) writeObject(path string) error {
	top, err := spec.Explain(path)
	if err != nil {
		return err
	}
	var rows strings.Builder
	var below []string
	for _, f := range top.Fields {
		sub, err := spec.Explain(path + "." + f.Name)
		if err != nil {
			return err
		}
		row(&rows, f.Name, sub)
		if len(sub.Fields) > 0 && !strings.HasPrefix(sub.Type, "Kubernetes ") {
			below = append(below, path+"."+f.Name)
		}
	}
	fmt.Fprintf(&r.text, "\n## %s\n\n", path)
	if at, known := r.seen[rows.String()]; known {
		fmt.Fprintf(&r.text, "As [%s](#%s).\n", at, anchor(at))
		return nil
	}
	r.seen[rows.String()] = path
	fmt.Fprintf(&r.text, "%s.\n\n| field | type | default | meaning |\n|---|---|---|---|\n%s",
		capital(top.Meaning), rows.String())
	for _, sub := range below {
		if err := r.writeObject(sub); err != nil {
			return err
		}
	}
	return nil
}

// row is one field of an object.
func row(b *strings.Builder, name string, e spec.Explanation) {
	if e.Required {
		name = "**" + name + "**"
	}
	if e.Axis {
		name += " `*`"
	}
	var about []string
	for _, part := range []string{e.Meaning, e.Range, e.Unit, labelled("one of ", e.Values),
		labelled("also written ", e.Aliases)} {
		if part != "" && !strings.HasPrefix(part, "duration:") {
			about = append(about, part)
		}
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s |\n", name, cell(e.Type), code(e.Default),
		cell(strings.Join(slices.Compact(about), "; ")))
}

func labelled(label string, words []string) string {
	if len(words) == 0 {
		return ""
	}
	return label + strings.Join(words, ", ")
}

// cell is s as text of a table: neither a column nor a tag begins in it.
func cell(s string) string { return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(s) }

func code(s string) string {
	if s == "" {
		return s
	}
	return "`" + strings.ReplaceAll(s, "|", `\|`) + "`"
}

// anchor is the fragment that renderers make of a heading.
func anchor(heading string) string { return strings.ReplaceAll(strings.ToLower(heading), ".", "") }

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
