package app

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/tasks/step"
)

// Scripts ask bflow itself (--generate-bash-completion), so that they never fall behind.
const (
	bashCompletion = `_bflow() {
  local words="${COMP_WORDS[@]:0:$COMP_CWORD}"
  local cur="${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=($(compgen -W "$($words ${cur:+$cur} --generate-bash-completion 2>/dev/null)" -f -- "$cur"))
}
complete -F _bflow bflow
`
	zshCompletion = `#compdef bflow
_bflow() {
  local -a opts
  opts=("${(@f)$(${words[@]:0:#words[@]-1} --generate-bash-completion 2>/dev/null)}")
  _describe 'bflow' opts
  _files
}
compdef _bflow bflow
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
			script := map[string]string{"bash": bashCompletion, "zsh": zshCompletion}[shell]
			if shell == "fish" {
				if script, err = c.App.ToFishCompletion(); err != nil {
					return fmt.Errorf("writing the fish completion: %w", err)
				}
			}
			if script == "" {
				return step.Usagef("writing a completion script: unknown shell %q: want bash, zsh or fish", shell)
			}
			_, err = fmt.Fprint(s.Out, script)
			return err
		},
	}
}
