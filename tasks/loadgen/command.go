package loadgen

import (
	"context"
	"errors"
	"flag"
	"fmt"

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
			fmt.Fprint(s.Err, otherUses)
		}
		return err
	}
}

// otherUses is what the flags do not say.
const otherUses = `Without a plan, in the words of another tool:
  load-gen [--lenient] [--run-dir DIR] guidellm benchmark|run ...
  load-gen [--lenient] [--run-dir DIR] vllm bench serve ...
  load-gen [--lenient] [--run-dir DIR] inference-perf -c FILE
  load-gen [--lenient] [--run-dir DIR] aiperf profile ...
  GUIDELLM_TARGET=URL GUIDELLM_...=... load-gen
One run directory out of those of shards:
  load-gen merge --run-dir OUT DIR...
`
