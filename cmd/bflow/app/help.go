package app

// Templates of the help texts. Flags are listed once, with a placeholder for their value. Every flag can also be set
// with an environment variable, so the help says that in one place.
const (
	flagHelp = `{{range .VisibleFlags}}   {{range $i, $n := .Names}}{{if $i}}, {{end}}{{if gt (len $n) 1}}-{{end}}-{{$n}}{{end}}{{if .TakesValue}} VALUE{{end}}{{"\t"}}{{.GetUsage}}{{if and .TakesValue .GetDefaultText}} (default: {{.GetDefaultText}}){{end}}
{{end}}`

	commandHelp = `{{.HelpName}}: {{.Usage}}

   {{.HelpName}}{{if .VisibleCommands}} COMMAND{{end}}{{if .VisibleFlags}} [FLAGS]{{end}}{{if .ArgsUsage}} {{.ArgsUsage}}{{end}}
{{if .Description}}
   {{wrap .Description 3}}
{{end}}{{if .VisibleCommands}}
Commands:
{{range .VisibleCommands}}   {{.Name}}{{"\t"}}{{.Usage}}
{{end}}{{end}}{{if .VisibleFlags}}
Flags:
` + flagHelp + `{{end}}`

	appHelp = `{{.Name}}: {{.Usage}}

   {{.Name}} COMMAND [FLAGS] [ARGUMENTS]

Commands:
{{range .VisibleCommands}}   {{.Name}}{{"\t"}}{{.Usage}}
{{end}}
Flags:
` + flagHelp + `
Every flag --a-b of a command can also be set with the environment variable BFLOW_A_B. Data goes to standard output,
progress and errors to standard error. Exit codes: 0 pass, 1 failure, 2 usage error or invalid file, 3 server under
test not fit to be measured, 4 invalid measurement, 5 objective or comparison breached, 6 inconclusive,
130 interrupted.
`
)
