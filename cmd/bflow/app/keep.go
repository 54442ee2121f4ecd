package app

import (
	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/queue/retention"
	"bflow.dev/bflow/tasks/step"
)

// lifetime is something of an ended run that is kept for a time.
type lifetime struct {
	flag, usage string
	usual       retention.Period
}

func lifetimes() []lifetime {
	usual := retention.Defaults()
	return []lifetime{
		{"keep-pods", "how long to keep the pods of tasks after their run ends", usual.Pods},
		{"keep-volumes", "how long to keep the volume of a run after it ends, once its results are fetched or pushed",
			usual.Volumes},
		{"keep-runs", "how long to keep a run after it ends, once its results are fetched or pushed; an experiment " +
			"can override this", usual.Runs},
		{"keep-servers", "how long a model server may stay after its run at most, where an experiment does not remove it",
			usual.Servers},
	}
}

// keepFlags say how long what ended runs have left is kept: each is a flag of the controller.
func keepFlags() (flags []cli.Flag) {
	for _, l := range lifetimes() {
		usual, _ := l.usual.MarshalText() // which fails never
		flags = append(flags, &cli.StringFlag{
			Name: l.flag, Usage: l.usage + "; a duration, or forever", DefaultText: string(usual),
		})
	}
	return flags
}

// controllerFlags are those that the flags of an installation stand for.
func controllerFlags(c *cli.Context) ([]string, error) {
	flags := c.StringSlice("controller-flag")
	for _, l := range lifetimes() {
		text := c.String(l.flag)
		if text == "" {
			continue
		}
		if err := new(retention.Period).UnmarshalText([]byte(text)); err != nil {
			return nil, step.Usagef("reading flag --%s: %w", l.flag, err)
		}
		flags = append(flags, "--"+l.flag+"="+text)
	}
	return flags, nil
}
