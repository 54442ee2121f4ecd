package app

// Templates of the help texts. Flags are named once, with the word that stands for their value; every one of them can
// also be set by its variable, so that is said at one place.
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
Every flag --a-b of a command can also be set by the environment variable BFLOW_A_B. Data goes to standard output,
progress and errors to standard error. Exit codes: 0 pass, 1 failed, 2 bad usage or an invalid file, 3 the server
under test is not fit to be measured, 4 the measurement must not be believed, 5 an objective or a comparison is
breached, 6 the data cannot decide, 130 interrupted.
`
)
