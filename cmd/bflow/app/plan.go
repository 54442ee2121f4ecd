package app

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"
	"sigs.k8s.io/yaml"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/step"
)

func planCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "plan",
		Usage:     "print the resolved points of an experiment",
		ArgsUsage: "FILE...",
		Flags:     planFlags(outputFlag(), namespaceFlag()),
		Action: func(c *cli.Context) error {
			in, err := readFiles(c, s, spec.Options{})
			if err != nil {
				return err
			}
			all, err := matrices(c, s, in)
			if err != nil {
				return err
			}
			out := bufio.NewWriterSize(s.Out, 1<<16)
			if err := writePlans(c, out, in.Plans(all)); err != nil {
				return err
			}
			return out.Flush()
		},
	}
}

// writePlans streams: a matrix of many points is never held in memory.
func writePlans(c *cli.Context, w io.Writer, plans compile.Plans) error {
	switch format := c.String("output"); format {
	case "json":
		return writeJSONArray(w, plans)
	case "yaml":
		return writeYAMLStream(w, plans)
	case "table", "":
		return planTable(w, plans)
	default:
		return step.Usagef("reading flag --output: %q: want json, yaml or table", format)
	}
}

func writeJSONArray(w io.Writer, plans compile.Plans) error {
	enc, comma := json.NewEncoder(w), "["
	for p, err := range plans {
		if err != nil {
			return err
		}
		fmt.Fprint(w, comma)
		if err := enc.Encode(p); err != nil {
			return err
		}
		comma = ","
	}
	_, err := fmt.Fprintln(w, "]")
	return err
}

func writeYAMLStream(w io.Writer, plans compile.Plans) error {
	for p, err := range plans {
		if err != nil {
			return err
		}
		data, err := yaml.Marshal(p)
		if err != nil {
			return fmt.Errorf("writing plan %q: %w", p.Name, err)
		}
		fmt.Fprint(w, "---\n")
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	return nil
}

func planTable(w io.Writer, plans compile.Plans) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "#\tNAME\tMODEL\tENGINE\tLOAD\tTIME\tHASH\tPOINT")
	for p, err := range plans {
		if err != nil {
			return err
		}
		engine := p.Deployment.Engine.Kind
		if p.Deployment.Endpoint != nil {
			engine = p.Deployment.Endpoint.BaseURL
		}
		fmt.Fprintf(tw, "%d\t%s\t%s\t%s\t%s\t%s\t%.12s\t%s\n", p.Index, p.Name, p.Deployment.Model.Name, engine,
			p.Load(), expected(p), p.Hash, point(p))
	}
	return tw.Flush()
}

func expected(p *runplan.RunPlan) string {
	var sum runplan.Duration
	for _, d := range p.Timeouts.Measurement {
		sum += d
	}
	return sum.String()
}

func point(p *runplan.RunPlan) string {
	parts := make([]string, len(p.Axes))
	for i, a := range p.Axes {
		parts[i] = fmt.Sprintf("%s=%v", a.Path, a.Value)
	}
	return strings.Join(parts, " ")
}
