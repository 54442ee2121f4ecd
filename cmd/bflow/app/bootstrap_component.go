package app

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/bootstrap/component"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// componentFlags returns the flags that components define.
func componentFlags(defined []component.Flag) []cli.Flag {
	var flags []cli.Flag
	for _, f := range defined {
		switch f.Kind {
		case component.Texts:
			flags = append(flags, &cli.StringSliceFlag{Name: f.Name, Usage: f.Usage})
		case component.Number:
			flags = append(flags, &cli.IntFlag{Name: f.Name, Usage: f.Usage})
		case component.Switch:
			flags = append(flags, &cli.BoolFlag{Name: f.Name, Usage: f.Usage})
		default:
			flags = append(flags, &cli.StringFlag{Name: f.Name, Usage: f.Usage})
		}
	}
	return flags
}

// componentSettings reads those that were given.
func componentSettings(c *cli.Context, defined []component.Flag) (component.Settings, error) {
	settings, err := component.ParseFlags(defined, func(f component.Flag) []string {
		switch {
		case !c.IsSet(f.Name):
			return nil
		case f.Kind == component.Texts:
			return c.StringSlice(f.Name)
		}
		return []string{fmt.Sprint(c.Value(f.Name))}
	})
	return settings, step.Exit(contract.ExitUsage, err)
}
