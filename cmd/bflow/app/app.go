// Package app is the command line of bflow: one file per verb. A command maps flags to options, calls one library
// function and prints what it returns; it must hold no logic of its own.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/tasks/step"
)

// Streams are what a command may use of its process. Data goes to Out, progress and errors to Err.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer

	kinds func(*runs.Registry) // changes which kinds of runs there are, for tests
}

// Main runs bflow with argv (the program's name first) and returns the documented exit code.
func Main(ctx context.Context, s Streams, argv []string) int {
	ctx, end := context.WithCancel(ctx)
	defer end()
	app := newApp(s)
	err := app.RunContext(ctx, completes(app, s, argv))
	var printed *runs.CodeError
	if err != nil && !errors.As(err, &printed) {
		fmt.Fprintf(s.Err, "bflow: %s\n", strings.TrimSpace(err.Error()))
	}
	return step.Code(err)
}

func newApp(s Streams) *cli.App {
	app := &cli.App{
		Name:                      "bflow",
		Usage:                     "benchmark LLM inference servers and get numbers you can trust",
		Writer:                    s.Out,
		ErrWriter:                 s.Err,
		Reader:                    s.In,
		Version:                   step.Version,
		EnableBashCompletion:      true,
		DisableSliceFlagSeparator: true,
		CommandNotFound:           nil,
		ExitErrHandler:            func(*cli.Context, error) {}, // Main prints and chooses the code
		OnUsageError:              usageError,
		Action:                    help,
		CustomAppHelpTemplate:     appHelp,
		Commands: []*cli.Command{
			validateCommand(s), planCommand(s), renderCommand(s), compileCommand(s), runCommand(s),
			listCommand(s), statusCommand(s), watchCommand(s), logsCommand(s), cancelCommand(s),
			rerunCommand(s), resumeCommand(s), deleteCommand(s),
			reportCommand(s), exportCommand(s), importCommand(s), fetchCommand(s),
			imagesCommand(s), bundleCommand(s),
			bootstrapCommand(s), targetCommand(s), janitorCommand(s), doctorCommand(s), reachCommand(s),
			profilesCommand(s), explainCommand(s), versionCommand(s), completionCommand(s), stepCommand(),
			experimentCommand(s), matrixCommand(s),
		},
	}
	for _, c := range app.Commands {
		prepare(c)
	}
	return app
}

// prepare gives every flag its environment variable and every command the same manners.
func prepare(c *cli.Command) {
	c.OnUsageError, c.CustomHelpTemplate, c.HideHelpCommand = usageError, commandHelp, true
	for _, f := range c.Flags {
		bindEnv(f)
	}
	for _, sub := range c.Subcommands {
		prepare(sub)
	}
	if len(c.Subcommands) > 0 && c.Action == nil {
		c.Action = group
	}
}

func usageError(c *cli.Context, err error, _ bool) error {
	verb := strings.TrimPrefix(c.Command.HelpName, "bflow")
	return step.Usagef("reading flags: %v%s; see %s --help",
		err, meant(c, err), strings.TrimSpace("bflow "+strings.TrimSpace(verb)))
}

// meant suggests the flag that somebody may have meant who wrote an unknown one.
func meant(c *cli.Context, err error) string {
	_, name, unknown := strings.Cut(err.Error(), "flag provided but not defined: ")
	if !unknown {
		return ""
	}
	return near("--"+strings.TrimLeft(name, "-"), flagNames(c.Command))
}

func help(c *cli.Context) error {
	if word := c.Args().First(); word != "" {
		return step.Usagef("unknown command %q%s; see bflow --help", word, suggestion(c.App.Commands, word))
	}
	return cli.ShowAppHelp(c)
}

// group is a command that only holds others.
func group(c *cli.Context) error {
	if word := c.Args().First(); word != "" {
		return step.Usagef("unknown command %q%s; see bflow %s --help",
			word, suggestion(c.Command.Subcommands, word), c.Command.Name)
	}
	return cli.ShowSubcommandHelp(c)
}
