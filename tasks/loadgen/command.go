package loadgen

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"bflow.dev/bflow/load/tool/registry"
	"bflow.dev/bflow/tasks/loadgen/standalone"
	"bflow.dev/bflow/tasks/step"
)

// Command is load-gen as a person calls it: a measurement of a plan, the words of another load tool, or merge. environ
// returns NAME=value pairs: no words at all are those of the variables.
func Command(environ func() []string) step.Func {
	return func(ctx context.Context, s step.Streams, args []string) error {
		switch {
		case len(args) > 0 && args[0] == mergeWord:
			return merge(s, args[1:])
		case standalone.Spoken(args, environ):
			return standalone.Run(ctx, s, args, environ, Run)
		}
		err := Run(ctx, s, args)
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(s.Err, otherUses(registry.All()))
		}
		return err
	}
}

// otherUses is what the flags do not say.
func otherUses(tools registry.Tools) string {
	var lines, variables []string
	for _, t := range tools {
		d := t.Definition()
		lines = append(lines, "  load-gen [--lenient] [--run-dir DIR] "+d.Usage)
		if d.VariableUsage != "" {
			variables = append(variables, "  "+d.VariableUsage+" load-gen")
		}
	}
	return "Without a plan, with the options of another tool:\n" + strings.Join(append(lines, variables...), "\n") +
		"\nOne run directory out of those of shards:\n  load-gen merge --run-dir OUT DIR...\n"
}
