package app

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/bootstrap/doctor"
	"bflow.dev/bflow/bootstrap/objects"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/tasks/step"
)

func doctorCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "check a cluster for problems, and say how to fix them",
		Description: "Checks permissions, versions, queues, storage, GPUs, Pod Security and clocks, and starts a pod " +
			"for a few seconds " +
			"to pull the images and to check what pods can reach. Changes nothing else. Exits with 1 if a check fails.",
		Flags: kubeFlags(outputFlag(),
			&cli.StringFlag{
				Name: "namespace", Aliases: []string{"n"}, Value: objects.DefaultNamespace,
				Usage: "namespace for runs to check",
			},
			&cli.StringSliceFlag{
				Name: "reach", Usage: "URL that pods must reach, such as a model mirror or an MLflow server; " +
					"repeatable (default: https://huggingface.co, as a warning only)",
			},
			&cli.StringFlag{
				Name:  "image-prefix",
				Usage: "registry and path of the images (default: those of the controller's image)",
			},
			&cli.StringFlag{Name: "image-tag", Usage: "tag of the images (default: the tag of the controller's image)"},
			&cli.BoolFlag{Name: "no-pod", Usage: "start no pod, so images and the network of pods are not checked"},
			&cli.DurationFlag{Name: "timeout", Value: 2 * time.Minute, Usage: "how long to wait for the pod to pull the images"},
		),
		Action: func(c *cli.Context) error { return runDoctor(c, s) },
	}
}

func runDoctor(c *cli.Context, s Streams) error {
	cfg, err := kubeConfig(c)
	if err != nil {
		return err
	}
	cfg.Timeout = 15 * time.Second
	lines, err := doctor.Run(c.Context, cfg, doctor.Options{
		Namespace: c.String("namespace"), Version: step.Version, Reach: c.StringSlice("reach"),
		Prefix: c.String("image-prefix"), Tag: c.String("image-tag"), Pod: !c.Bool("no-pod"), Timeout: c.Duration("timeout"),
	})
	if err != nil {
		return err
	}
	if err := show(c, s.Out, lines, func(w io.Writer) error { return writeLines(w, lines) }); err != nil {
		return err
	}
	if doctor.Failed(lines) {
		return runs.Code(contract.ExitFail)
	}
	return nil
}

func writeLines(w io.Writer, lines []doctor.Line) error {
	marks := map[doctor.Level]string{doctor.OK: "✓", doctor.Warn: "!", doctor.Fail: "✗"}
	for _, l := range lines {
		if _, err := fmt.Fprintf(w, "%s\t%s\t%s\n", marks[l.Level], l.Check, oneLine(l.Says)); err != nil {
			return err
		}
		if l.Remedy != "" {
			if _, err := fmt.Fprintf(w, "\t\t→ %s\n", l.Remedy); err != nil {
				return err
			}
		}
	}
	return nil
}

// oneLine keeps a message of a server from breaking the columns.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// reachCommand is what the pod of doctor runs.
func reachCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name: "reach", Hidden: true, ArgsUsage: "URL...",
		Action: func(c *cli.Context) error {
			client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			return json.NewEncoder(s.Out).Encode(doctor.Reach(c.Context, client, time.Now(), c.Args().Slice()))
		},
	}
}
