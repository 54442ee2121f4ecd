package app

import (
	"io"
	"os"
	"strconv"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"bflow.dev/bflow/internal/screen"
)

// screenOf is what the terminal behind w can show, the zero Screen where there is none. Flag --plain, TERM=dumb and
// NO_COLOR (no-color.org) are obeyed.
func screenOf(c *cli.Context, w io.Writer) screen.Screen {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return screen.Screen{}
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil || columns == 0 { // some terminals do not say
		columns, _ = strconv.Atoi(os.Getenv("COLUMNS"))
	}
	if columns <= 0 {
		columns = 80
	}
	return allowed(columns, c.Bool("plain"), os.Getenv)
}

// allowed is what may be shown on a terminal of so many columns.
func allowed(columns int, plain bool, env func(string) string) screen.Screen {
	able := !plain && env("TERM") != "dumb" && env("TERM") != ""
	return screen.Screen{Width: columns, Live: able, Colour: able && env("NO_COLOR") == ""}
}
