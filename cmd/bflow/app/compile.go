package app

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/runplan/literal"
	"bflow.dev/bflow/runs/resolve"
	"bflow.dev/bflow/tasks/step"
)

// compileFlags are those that shape compiled objects.
func compileFlags(more ...cli.Flag) []cli.Flag {
	return planFlags(submitFlags(append(more, flatFlag())...)...)
}

// submitFlags are those of them that are not about the plan.
func submitFlags(more ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{
		namespaceFlag(),
		&cli.StringFlag{
			Name: "platform", Value: compile.Kubernetes, Usage: "platform of the cluster: kubernetes or openshift",
		},
		&cli.StringFlag{Name: "bundle", Usage: "REF@sha256:... of the bundle with the Tasks"},
		&cli.StringFlag{
			Name:  "results-claim",
			Usage: "PersistentVolumeClaim that all runs share for their results (default: one volume per run)",
		},
		&cli.StringSliceFlag{
			Name:  "load-node-selector",
			Usage: "KEY=VALUE: label of the nodes for task pods, which need no GPU; repeatable",
		},
		&cli.StringFlag{
			Name: "load-cpu", Usage: "CPU request of a load generator, such as 500m or 4 (default: 1, or less if " +
				"bootstrap found only small nodes)",
		},
		&cli.BoolFlag{Name: "no-queue", Usage: "start at once, without waiting for admission by Kueue"},
	}, more...)
}

func namespaceFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "namespace", Aliases: []string{"n"},
		Usage: "namespace of the runs, on the hub and on their targets (default: from the experiment)",
	}
}

func flatFlag() cli.Flag {
	return &cli.BoolFlag{
		Name: "flat", Usage: "submit an independent run for every point, all at once, instead of a matrix",
	}
}

func compileOptions(c *cli.Context, sum string) compile.Options {
	return compile.Options{Version: step.Version, Input: sum, Platform: c.String("platform"),
		ImagePrefix: c.String("image-prefix"), Bundle: c.String("bundle"), ResultsClaim: c.String("results-claim"),
		NoQueue: c.Bool("no-queue"), Matrix: !c.Bool("flat"),
		NodeSelector: labelsOf(c.StringSlice("load-node-selector")), LoadCPU: c.String("load-cpu")}
}

// labelsOf reads KEY=VALUE arguments.
func labelsOf(args []string) map[string]string {
	labels := map[string]string{}
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		labels[key] = value
	}
	return labels
}

func compileCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "compile",
		Usage:     "print the Tekton objects of an experiment",
		ArgsUsage: "FILE...",
		Flags: compileFlags(&cli.StringFlag{
			Name: "out", Usage: "folder to write one file per object to: OUT/shared for kubectl apply, OUT/runs for " +
				"kubectl create (default: standard output)",
		}),
		Action: func(c *cli.Context) error {
			in, opt, err := readTogether(c, s)
			if err != nil {
				return err
			}
			opt.Submitted = true
			all, err := expand(c, s, in, opt)
			if err != nil {
				return err
			}
			o := compileOptions(c, in.Sum)
			o.BflowImage = opt.Lock["bflow"]
			if dir := c.String("out"); dir != "" {
				err = compile.WriteDir(dir, in.Plans(all), o)
			} else {
				out := bufio.NewWriterSize(s.Out, 1<<20)
				if err = compile.Write(out, in.Plans(all), o); err == nil {
					err = out.Flush()
				}
			}
			if err == nil {
				nameSecrets(s, resolve.Secrets(all))
			}
			return err
		},
	}
}

// nameSecrets says which Secrets somebody has to make: compiled objects never hold a credential.
func nameSecrets(s Streams, list []literal.Secret) {
	for _, secret := range list {
		fmt.Fprintf(s.Err, "warning: create Secret %q with key %q: the file contains this credential as a literal\n",
			secret.Name, secret.Key)
	}
}
