package app

import (
	"fmt"
	"runtime"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/tasks/step"
)

func versionCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the version",
		Action: func(*cli.Context) error {
			_, err := fmt.Fprintf(s.Out, "bflow %s %s %s/%s\n", step.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
