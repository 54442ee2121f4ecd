package app

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/bootstrap"
	"bflow.dev/bflow/tasks/step"
)

func targetListCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:        "list",
		Usage:       "list targets with their status, their devices and the runs that use them",
		Description: "Shows what bflow-controller last observed; the targets themselves are not contacted.",
		Flags:       kubeFlags(outputFlag()),
		Action: func(c *cli.Context) error {
			hub, err := hubOf(c, s)
			if err != nil {
				return err
			}
			all, unread := hub.Targets(c.Context, step.Version)
			if all == nil {
				return unread
			}
			if unread != nil {
				fmt.Fprintf(s.Err, "warning: the list is incomplete: %v\n", unread)
			}
			return show(c, s.Out, all, func(w io.Writer) error { return printTargetTable(w, all, time.Now()) })
		},
	}
}

func printTargetTable(w io.Writer, all []bootstrap.TargetState, now time.Time) error {
	if _, err := fmt.Fprintln(w,
		"TARGET\tANSWERS\tVERSION\tDEVICES\tTOTAL\tFREE\tOURS\tOTHERS\tRUNS\tWAITING\tNOTE"); err != nil {
		return err
	}
	for _, t := range all {
		row := []string{t.Name, answers(t, now), version(t)}
		counts := fmt.Sprintf("%d\t%d\t%s", t.Running, t.Waiting, note(t))
		if t.Seen == nil || len(t.Seen.Devices) == 0 {
			row = append(row, "-", "-", "-", "-", "-", counts)
			fmt.Fprintln(w, strings.Join(row, "\t"))
			continue
		}
		for i, name := range slices.Sorted(maps.Keys(t.Seen.Devices)) {
			d := t.Seen.Devices[name]
			cells := []string{
				cmp.Or(d.Product, name), fmt.Sprint(d.Total), fmt.Sprint(d.Free),
				fmt.Sprint(d.Ours), fmt.Sprint(d.Foreign),
			}
			if i > 0 {
				row, counts = []string{"", "", ""}, "\t\t"
			}
			fmt.Fprintln(w, strings.Join(slices.Concat(row, cells, []string{counts}), "\t"))
		}
	}
	return nil
}

func answers(t bootstrap.TargetState, now time.Time) string {
	switch {
	case t.Seen == nil || t.Seen.Since.IsZero():
		return "unknown"
	case t.Seen.Up:
		return "yes"
	}
	return "no, for " + now.Sub(t.Seen.Since).Round(time.Second).String()
}

func version(t bootstrap.TargetState) string {
	if t.Seen == nil {
		return "-"
	}
	return cmp.Or(t.Seen.Version, "-")
}

// note is what a person should know at once, the worst first.
func note(t bootstrap.TargetState) string {
	switch {
	case t.Seen != nil && t.Seen.Why != "":
		return oneLine(t.Seen.Why)
	case len(t.Dirty) > 0:
		return "no run starts there: it may still hold devices of " + strings.Join(t.Dirty, ", ")
	case len(t.Lacks) > 0:
		return fmt.Sprintf("its service accounts lack permissions for runs of %s: run bflow target add %s "+
			"--kubeconfig FILE", strings.Join(t.Lacks, ", "), t.Name)
	case t.Held:
		return "no run starts there: it is being removed"
	case t.Seen != nil && len(t.Seen.Lost) > 0:
		return "no pods on " + strings.Join(t.Seen.Lost[:min(3, len(t.Seen.Lost))], ", ")
	}
	return ""
}
