package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/tasks/step"
)

// reorder moves the flags of a command before its arguments: the library stops reading flags at the first argument,
// and people write `bflow run FILE --local`. What follows "--" stays as it is.
func reorder(app *cli.App, argv []string) []string {
	if len(argv) < 2 {
		return argv
	}
	commands, rest := app.Commands, argv[1:]
	head := []string{argv[0]}
	var cmd *cli.Command
	for len(rest) > 0 {
		next := find(commands, rest[0])
		if next == nil {
			break
		}
		cmd, commands = next, next.Subcommands
		head, rest = append(head, rest[0]), rest[1:]
	}
	if cmd == nil || cmd.SkipFlagParsing {
		return argv
	}
	flags, args := split(cmd, rest)
	return slices.Concat(head, flags, args)
}

func find(commands []*cli.Command, name string) *cli.Command {
	i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(name) })
	if i < 0 {
		return nil
	}
	return commands[i]
}

// split parts words into flags, each with its value, and arguments.
func split(cmd *cli.Command, words []string) (flags, args []string) {
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch {
		case word == "--":
			return flags, append(args, words[i:]...)
		case !strings.HasPrefix(word, "-") || word == "-":
			args = append(args, word)
		default:
			flags = append(flags, word)
			if takesValue(cmd, word) && i+1 < len(words) {
				i++
				flags = append(flags, words[i])
			}
		}
	}
	return flags, args
}

func takesValue(cmd *cli.Command, word string) bool {
	if strings.Contains(word, "=") {
		return false
	}
	name := strings.TrimLeft(word, "-")
	for _, f := range cmd.Flags {
		if slices.Contains(f.Names(), name) {
			_, boolean := f.(*cli.BoolFlag)
			return !boolean
		}
	}
	return false
}

// bindEnv lets BFLOW_<FLAG> set a flag.
func bindEnv(f cli.Flag) {
	name := "BFLOW_" + strings.ToUpper(strings.ReplaceAll(f.Names()[0], "-", "_"))
	switch f := f.(type) {
	case *cli.StringFlag:
		f.EnvVars = append(f.EnvVars, name)
	case *cli.BoolFlag:
		f.EnvVars = append(f.EnvVars, name)
	case *cli.IntFlag:
		f.EnvVars = append(f.EnvVars, name)
	case *cli.DurationFlag:
		f.EnvVars = append(f.EnvVars, name)
	case *cli.StringSliceFlag:
		f.EnvVars = append(f.EnvVars, name)
	}
}

func suggestion(commands []*cli.Command, word string) string {
	return near(word, commandNames(commands))
}

// near is what somebody may have meant by word, in brackets, "" where nothing known is like it.
func near(word string, known []string) string {
	if hits := problem.Closest(word, known, 1); len(hits) > 0 {
		return fmt.Sprintf(" (did you mean %q?)", hits[0])
	}
	return ""
}

// oneArg returns the single argument of a command.
func oneArg(c *cli.Context, what string) (string, error) {
	if c.NArg() != 1 {
		return "", step.Usagef("reading arguments of %q: want one %s, got %d arguments; see bflow %s --help",
			c.Command.FullName(), what, c.NArg(), c.Command.FullName())
	}
	return c.Args().First(), requireName(c.Args().First(), what)
}

// requireName refuses an empty name: it begins every name there is, and a variable that is not set must not stand for
// the one run.
func requireName(name, what string) error {
	if name == "" {
		return step.Usagef("reading arguments: the name of the %s is empty; see bflow list", what)
	}
	return nil
}
