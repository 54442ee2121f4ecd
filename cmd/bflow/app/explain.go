package app

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

func explainCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "explain",
		Usage:     "explain a field of the files: meaning, type, default, unit",
		ArgsUsage: "KIND.spec.FIELD",
		Flags: []cli.Flag{outputFlag(),
			&cli.BoolFlag{Name: "schema", Usage: "print the JSON Schema of the files instead"}},
		Action: func(c *cli.Context) error {
			if c.Bool("schema") {
				schema, err := spec.Schema()
				if err != nil {
					return err
				}
				_, err = s.Out.Write(schema)
				return err
			}
			path, err := oneArg(c, "field, such as experiment.spec.load.stages")
			if err != nil {
				return err
			}
			e, err := spec.Explain(path)
			if err != nil {
				return step.Exit(contract.ExitUsage, err)
			}
			return show(c, s.Out, e, func(w io.Writer) error { return printExplanation(w, e) })
		},
	}
}

func printExplanation(w io.Writer, e spec.Explanation) error {
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%s:\t%s\n", name, value)
		}
	}
	row("Field", e.Path)
	row("Type", e.Type)
	row("Meaning", e.Meaning)
	row("Default", e.Default)
	row("Unit", e.Unit)
	row("Range", e.Range)
	row("Values", strings.Join(e.Values, ", "))
	row("Also written", strings.Join(e.Aliases, ", "))
	if e.Required {
		row("Required", "yes")
	}
	if e.Axis {
		row("Axis", "a list makes a matrix axis")
	}
	for i, f := range e.Fields {
		if i == 0 {
			fmt.Fprintln(w, "\nFIELD\tTYPE\tMEANING")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.Name, f.Type, f.Meaning)
	}
	return nil
}
