package app

import (
	"errors"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/generator/plan"
	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs/resolve"
	"bflow.dev/bflow/tasks/step"
)

// fileFlags are the flags of every command that reads experiments.
func fileFlags(more ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{
		&cli.StringSliceFlag{
			Name: "profiles", Aliases: []string{"profiles-dir"},
			Usage: "folder with your own profiles; repeatable, later folders take precedence",
		},
		&cli.StringSliceFlag{
			Name: "set", Usage: "PATH=VALUE: override a field; PATH is dotted and starts below spec, VALUE is YAML, " +
				"and a list makes an axis; repeatable",
		},
		&cli.BoolFlag{Name: "lenient", Usage: "report unknown keys as warnings, not errors"},
	}, more...)
}

// planFlags are the flags of every command that resolves experiments.
func planFlags(more ...cli.Flag) []cli.Flag {
	return append(fileFlags(
		&cli.IntFlag{
			Name: "max-points", Value: plan.DefaultMaxPoints, Usage: "reject an experiment with more runs than this",
		},
		&cli.StringSliceFlag{Name: "pin", Usage: "REFERENCE=sha256:...: use this digest for an image; repeatable"},
		lockFlag(),
		&cli.StringFlag{Name: "image-prefix", Usage: "registry and path of the task images"},
	), more...)
}

// readFiles loads the files a command names. Problems go to s.Err; an error among them ends the command with code 2.
func readFiles(c *cli.Context, s Streams, opt spec.Options) (resolve.Input, error) {
	if c.NArg() == 0 {
		return resolve.Input{}, step.Usagef("reading arguments of %q: want at least one file, or - for standard input",
			c.Command.FullName())
	}
	opt.ProfileDirs, opt.Set, opt.Lenient = c.StringSlice("profiles"), c.StringSlice("set"), c.Bool("lenient")
	if d := c.Duration("keep-for"); d > 0 {
		opt.Set = append(opt.Set, "stages.cleanup=false", "execution.keep_for="+d.String())
	}
	in, found := resolve.Load(c.Context, opt, s.In, c.Args().Slice()...)
	if c.Err() != nil && found.Err() != nil {
		return resolve.Input{}, step.Exit(contract.ExitInterrupted, errors.New("reading files: interrupted"))
	}
	return in, resolve.PrintProblems(s.Err, found)
}

// readTogether reads files whose experiments are to be submitted together, and the options of their plans.
func readTogether(c *cli.Context, s Streams) (resolve.Input, plan.Options, error) {
	in, err := readFiles(c, s, spec.Options{})
	if err == nil {
		err = resolve.PrintProblems(s.Err, in.OneName())
	}
	if err != nil {
		return in, plan.Options{}, err
	}
	opt, err := planOptions(c)
	return in, opt, err
}

// matrices resolves every experiment that was read, as flags say.
func matrices(c *cli.Context, s Streams, in resolve.Input) ([]*plan.Matrix, error) {
	opt, err := planOptions(c)
	if err != nil {
		return nil, err
	}
	return expand(c, s, in, opt)
}

// expand resolves every experiment that was read.
func expand(c *cli.Context, s Streams, in resolve.Input, opt plan.Options) ([]*plan.Matrix, error) {
	return in.Expand(s.Err, opt, c.Args().First())
}

func planOptions(c *cli.Context) (plan.Options, error) {
	pins, err := plan.ParsePins(c.StringSlice("pin"))
	if err != nil {
		return plan.Options{}, step.Exit(contract.ExitUsage, err)
	}
	opt := plan.Options{
		MaxPoints: c.Int("max-points"), Pins: pins, ImagePrefix: c.String("image-prefix"), Version: step.Version,
		Namespace: c.String("namespace"), Lenient: c.Bool("lenient"), Undeployable: plan.WarnUndeployable,
	}
	opt.Lock, err = imageLock(c)
	return opt, err
}
