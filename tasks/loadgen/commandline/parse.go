// Package commandline reads the command line of another load tool, with its environment variables and files, so that
// load-gen can replace the tool without a plan. It finds the tool, whose own package reads the words. It opens nothing
// by itself and knows neither the network nor the clock.
package commandline

import (
	"path"
	"slices"
	"strings"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/registry"
)

// Options are what a reading needs beside the command line.
type Options struct {
	Env   func() []string                   // NAME=value pairs
	Files func(path string) ([]byte, error) // reads a file that the words name; .env is asked for too and may be missing
	// Lenient makes warnings of words that nobody knows, and of those that only the real tool can follow: they are left
	// out.
	Lenient bool
}

// Parse reads the command line of another tool: args without the program's own name, as in "guidellm benchmark --rate
// 4", "vllm bench serve ...", "benchmark_serving.py ...", "inference-perf -c F", "aiperf profile ...". No args at all
// are those of the tool that variables name.
//
// Flags beat files, files beat variables. The error joins the findings that are no warnings; the Request is complete
// when it is nil.
func Parse(tools registry.Tools, args []string, o Options) (tool.Request, []tool.Finding, error) {
	env := o.Env()
	t := find(tools, args, env)
	if t == nil {
		c := tool.NewCommandLine(tool.Definition{}, env, o.Files, o.Lenient)
		if len(args) == 0 {
			c.Errorf("", "no tool is named: want %s", programs(tools))
		} else {
			c.Errorf(args[0], "no tool of this name: want %s", programs(tools))
		}
		return c.Finish(nil)
	}
	c := tool.NewCommandLine(t.Definition(), env, o.Files, o.Lenient)
	t.Parse(c, rest(c, t.Definition(), args))
	return c.Finish(t)
}

// IsOfTool reports whether args, or without any the environment, are the words of another tool.
func IsOfTool(tools registry.Tools, args []string, env func() []string) bool {
	return find(tools, args, env()) != nil
}

// find returns the tool that args name, without any the one that a variable names; nil where there is none.
func find(tools registry.Tools, args, env []string) tool.Tool {
	for _, t := range tools {
		d := t.Definition()
		named := func(pair string) bool {
			return slices.ContainsFunc(d.Variables, func(begin string) bool { return strings.HasPrefix(pair, begin) })
		}
		switch {
		case len(args) == 0 && slices.ContainsFunc(env, named):
			return t
		case len(args) > 0 && (args[0] == d.Program || d.Script != "" && path.Base(args[0]) == d.Script):
			return t
		}
	}
	return nil
}

// programs lists the names of all tools.
func programs(tools registry.Tools) string {
	var names []string
	for _, t := range tools {
		names = append(names, t.Definition().Program)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// rest are the args behind the tool's name and its subcommands.
func rest(c *tool.CommandLine, d tool.Definition, args []string) []string {
	if len(args) == 0 {
		return nil
	}
	for i, word := range d.Subcommands {
		if len(args) <= i+1 || args[i+1] != word {
			c.Errorf(args[0], "want %s %s", args[0], strings.Join(d.Subcommands, " "))
			return nil
		}
	}
	return args[len(d.Subcommands)+1:]
}
