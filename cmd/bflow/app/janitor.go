package app

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/runs/cluster"
	"bflow.dev/bflow/runs/leaks"
)

func janitorCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:  "janitor",
		Usage: "find and delete orphaned objects of runs",
		Description: "Deletes objects of this hub that no run needs: those of runs that are gone or were released " +
			"more than ten minutes ago. " +
			"bflow-controller does the same every ten minutes. Also reports what ended runs keep on purpose, and how " +
			"much of it can be deleted.",
		Flags: kubeFlags(
			&cli.StringSliceFlag{
				Name:  "target",
				Usage: "target to search; repeatable (default: all, which needs permission to read their credentials)",
			},
			&cli.StringSliceFlag{
				Name: "namespace", Aliases: []string{"n"},
				Usage: "namespace of runs to search; repeatable or comma-separated (default: all)",
			},
			&cli.BoolFlag{Name: "dry-run", Usage: "print what would be deleted, without deleting it"},
			outputFlag(),
		),
		Action: func(c *cli.Context) error {
			cfg, err := kubeConfig(c)
			if err != nil {
				return err
			}
			o := leaks.Options{Targets: c.StringSlice("target"), DryRun: c.Bool("dry-run")}
			for _, n := range c.StringSlice("namespace") {
				o.Namespaces = append(o.Namespaces, strings.Split(n, ",")...)
			}
			found, failed := leaks.Clean(c.Context, cfg, o)
			if found == nil {
				found = []leaks.Leak{}
			}
			if err := show(c, s.Out, found, func(w io.Writer) error { return printLeakTable(w, found) }); err != nil {
				return err
			}
			printLeaks(s, found, o.DryRun)
			cluster.PrintKept(c.Context, s.Err, cfg, o.Namespaces)
			return failed
		},
	}
}

func printLeakTable(w io.Writer, found []leaks.Leak) error {
	if len(found) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(w, "TARGET\tNAMESPACE\tOBJECT\tRUN\tWHY"); err != nil {
		return err
	}
	for _, l := range found {
		fmt.Fprintf(w, "%s\t%s\t%s %s\t%s\t%s\n", l.Target, l.Namespace, l.Kind, l.Name, l.Run, l.Why)
	}
	return nil
}

func printLeaks(s Streams, found []leaks.Leak, dry bool) {
	deleted := 0
	for _, l := range found {
		if l.Deleted {
			deleted++
		}
	}
	switch {
	case len(found) == 0:
		fmt.Fprintln(s.Err, "no orphaned objects found")
	case dry:
		fmt.Fprintf(s.Err, "found %d orphaned objects; run without --dry-run to delete them\n", len(found))
	default: // what its owner takes along is not deleted by itself
		fmt.Fprintf(s.Err, "deleted %d of %d; the others are deleted with them, or were already being deleted\n",
			deleted, len(found))
	}
}
