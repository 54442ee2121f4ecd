package app

import (
	"bufio"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/generator/plan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs/render"
)

func renderCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "render",
		Usage:     "print the objects of the model servers of an experiment",
		ArgsUsage: "FILE...",
		Description: "Prints what task provision creates for each point, without a cluster. Names and labels are those " +
			"of a run that has the\nname of the point.",
		Flags: planFlags(namespaceFlag(),
			&cli.BoolFlag{Name: "openshift", Usage: "for OpenShift, which assigns users to pods itself"},
			&cli.StringFlag{Name: "out", Usage: "folder to write one file per point to (default: standard output)"}),
		Action: func(c *cli.Context) error {
			in, opt, err := readTogether(c, s)
			if err != nil {
				return err
			}
			opt.Submitted, opt.Undeployable = true, plan.RejectUndeployable
			all, err := expand(c, s, in, opt)
			if err != nil {
				return err
			}
			o := render.Options{OpenShift: c.Bool("openshift"),
				SimImage: compile.DefaultImagePrefix + "/" + contract.SimEngine}
			if dir := c.String("out"); dir != "" {
				return render.WriteDir(dir, in.Plans(all), o)
			}
			out := bufio.NewWriterSize(s.Out, 1<<16)
			if err := render.Write(out, in.Plans(all), o); err != nil {
				return err
			}
			return out.Flush()
		},
	}
}
