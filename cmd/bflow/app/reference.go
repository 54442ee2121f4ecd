package app

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

// Reference writes every command and flag as Markdown.
func Reference(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# Commands\n")
	for _, c := range newApp(Streams{}).Commands {
		writeDocument(&b, "bflow", c)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeDocument writes c, a command of parent, and those below it.
func writeDocument(b *strings.Builder, parent string, c *cli.Command) {
	if c.Hidden {
		return
	}
	name := parent + " " + c.Name
	fmt.Fprintf(b, "\n## %s\n\n%s.\n", name, capital(c.Usage))
	if c.Description != "" {
		fmt.Fprintf(b, "\n```\n%s\n```\n", c.Description)
	}
	if len(c.Subcommands) == 0 {
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", strings.Join(strings.Fields(name+" [FLAGS] "+c.ArgsUsage), " "))
	}
	if len(c.Flags) > 0 {
		b.WriteString("\n| flag | default | meaning |\n|---|---|---|\n")
	}
	for _, f := range c.Flags {
		writeFlagRow(b, f)
	}
	for _, sub := range c.Subcommands {
		writeDocument(b, name, sub)
	}
}

func writeFlagRow(b *strings.Builder, f cli.Flag) {
	doc, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return
	}
	names := f.Names()
	for i, n := range names {
		names[i] = "`-" + n + "`"
		if len(n) > 1 {
			names[i] = "`--" + n + "`"
		}
	}
	value := ""
	if doc.TakesValue() {
		value = strings.Trim(doc.GetDefaultText(), `"`)
	}
	fmt.Fprintf(b, "| %s | %s | %s |\n", strings.Join(names, ", "), value, strings.ReplaceAll(doc.GetUsage(), "|", `\|`))
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
