package app

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/urfave/cli/v2"
	"sigs.k8s.io/yaml"

	"bflow.dev/bflow/tasks/step"
)

// outputFlag is -o json|yaml|table.
func outputFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "output", Aliases: []string{"o"}, Value: "table", Usage: "output format: json, yaml or table",
	}
}

// show prints v as the flag --output says; table writes the form for people.
func show(c *cli.Context, w io.Writer, v any, table func(io.Writer) error) error {
	switch format := c.String("output"); format {
	case "table", "":
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		if err := table(tw); err != nil {
			return err
		}
		return tw.Flush()
	case "json":
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	case "yaml":
		data, err := yaml.Marshal(v)
		if err != nil {
			return fmt.Errorf("writing YAML: %w", err)
		}
		_, err = w.Write(data)
		return err
	default:
		return step.Usagef("reading flag --output: %q: want json, yaml or table%s", format, near(format, outputs()))
	}
}

// outputs are the values of --output.
func outputs() []string { return []string{"json", "yaml", "table"} }
