package app

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/tasks/step"
)

// Scripts ask bflow itself, so that they never fall behind; where it has nothing to say they offer files.
const (
	bashCompletion = `_bflow() {
  local cur="${COMP_WORDS[COMP_CWORD]}" IFS=$'\n'
  COMPREPLY=($("${COMP_WORDS[@]:0:COMP_CWORD}" "$cur" ` + completionFlag + ` 2>/dev/null))
}
complete -o default -F _bflow bflow
`
	zshCompletion = `#compdef bflow
_bflow() {
  local -a found
  found=("${(@f)$("${(@)words[1,CURRENT-1]}" "${words[CURRENT]}" ` + completionFlag + ` 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then compadd -a found; else _files; fi
}
if [[ "${funcstack[1]}" = _bflow ]]; then _bflow "$@"; else compdef _bflow bflow; fi
`
	fishCompletion = `function __bflow_complete
  set -l words (commandline -opc)
  command $words[1] $words[2..-1] (commandline -ct) ` + completionFlag + ` 2>/dev/null
end
complete -c bflow -a '(__bflow_complete)'
`
)

func completionCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a completion script",
		ArgsUsage: "bash|zsh|fish",
		Description: "bash: source <(bflow completion bash)\n" +
			"zsh:  bflow completion zsh > \"${fpath[1]}/_bflow\"\n" +
			"fish: bflow completion fish > ~/.config/fish/completions/bflow.fish",
		Action: func(c *cli.Context) error {
			shell, err := oneArg(c, "shell (bash, zsh or fish)")
			if err != nil {
				return err
			}
			script := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[shell]
			if script == "" {
				return step.Usagef("writing a completion script: unknown shell %q: want bash, zsh or fish", shell)
			}
			_, err = fmt.Fprint(s.Out, script)
			return err
		},
	}
}
