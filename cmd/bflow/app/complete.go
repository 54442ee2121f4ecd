package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/report/export"
	"bflow.dev/bflow/report/imports"
)

// completionFlag follows the words of a command line whose last one, which may be empty, is to be completed.
const completionFlag = "--generate-bash-completion"

// completionTimeout is how long a person who pressed a key waits for the names of a cluster's runs.
const completionTimeout = time.Second

// completes prepares the app for a command line that asks for completion, and returns what it is to parse: everything
// before the word in question. Any other line is returned as it is.
func completes(app *cli.App, s Streams, argv []string) []string {
	n := len(argv)
	if n < 3 || argv[n-1] != completionFlag {
		return reorder(app, argv)
	}
	at := cursor{s: s, word: argv[n-2], before: argv[n-3]}
	app.BashComplete = func(c *cli.Context) { at.print(c, &cli.Command{Subcommands: app.Commands, Flags: app.Flags}) }
	at.attach(app.Commands)
	return append(reorder(app, argv[:n-2]), completionFlag)
}

// cursor is where somebody wants to know what may come.
type cursor struct {
	s            Streams
	word, before string
}

func (at cursor) attach(commands []*cli.Command) {
	for _, cmd := range commands {
		cmd.BashComplete = func(c *cli.Context) { at.print(c, cmd) }
		at.attach(cmd.Subcommands)
	}
}

// print writes what begins with the word, one a line. Nothing lets the shell offer files.
func (at cursor) print(c *cli.Context, cmd *cli.Command) {
	words := at.words(c, cmd)
	slices.Sort(words)
	for _, word := range slices.Compact(words) {
		if strings.HasPrefix(word, at.word) {
			fmt.Fprintln(at.s.Out, word)
		}
	}
}

func (at cursor) words(c *cli.Context, cmd *cli.Command) []string {
	switch {
	case strings.HasPrefix(at.before, "-") && takesValue(cmd, at.before):
		return valuesOf(strings.TrimLeft(at.before, "-"), c)
	case strings.HasPrefix(at.word, "-"):
		return flagNames(cmd)
	case len(cmd.Subcommands) > 0:
		return commandNames(cmd.Subcommands)
	}
	return argumentsOf(c, at.s, cmd.ArgsUsage)
}

func flagNames(cmd *cli.Command) []string {
	names := []string{"--help"}
	for _, f := range cmd.Flags {
		if v, ok := f.(cli.VisibleFlag); ok && !v.IsVisible() {
			continue
		}
		for _, name := range f.Names() {
			if len(name) > 1 {
				names = append(names, "--"+name)
			}
		}
	}
	return names
}

func commandNames(commands []*cli.Command) (names []string) {
	for _, c := range commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return names
}

// valuesOf are those that a flag takes, none where they are files or anything.
func valuesOf(flag string, c *cli.Context) []string {
	switch flag {
	case "format":
		return export.Formats()
	case "as":
		return imports.Formats()
	case "output", "o":
		return outputs()
	case "platform":
		return []string{compile.Kubernetes, compile.OpenShift}
	case "context":
		return source(c).Contexts()
	}
	return nil
}

// argumentsOf are the words that stand for an argument of a command, by what its usage calls it.
func argumentsOf(c *cli.Context, s Streams, usage string) []string {
	switch first, _, _ := strings.Cut(strings.TrimSuffix(usage, "..."), "|"); {
	case first == "RUN":
		return allRunNames(c, s)
	case first == "PROFILE":
		return profileNames(c)
	case first == strings.ToLower(first):
		return strings.Split(usage, "|")
	}
	return nil
}

// allRunNames are those of the runs and matrices here, and of the cluster where one is known and answers at once.
func allRunNames(c *cli.Context, s Streams) (names []string) {
	kinds := kindsOf(c, s)
	if !c.Bool("cluster") {
		for _, k := range kinds.Local {
			names = append(names, k.NamesOf(c.Context)...)
		}
	}
	if c.Bool("local") || !kinds.ClusterKnown {
		return names
	}
	ctx, cancel := context.WithTimeout(c.Context, completionTimeout)
	defer cancel()
	for _, k := range kinds.Cluster {
		names = append(names, k.NamesOf(ctx)...)
	}
	return names
}
