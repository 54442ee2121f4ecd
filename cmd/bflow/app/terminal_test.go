package app

import (
	"testing"

	"bflow.dev/bflow/internal/screen"
)

func TestATerminalShowsWhatItMay(t *testing.T) {
	for _, row := range []struct {
		name  string
		env   map[string]string
		plain bool
		want  screen.Screen
	}{
		{"a terminal has colours and lines that change", map[string]string{"TERM": "xterm"}, false,
			screen.Screen{Width: 90, Live: true, Colour: true}},
		{"NO_COLOR takes the colours", map[string]string{"TERM": "xterm", "NO_COLOR": "1"}, false,
			screen.Screen{Width: 90, Live: true}},
		{"an empty NO_COLOR says nothing", map[string]string{"TERM": "xterm", "NO_COLOR": ""}, false,
			screen.Screen{Width: 90, Live: true, Colour: true}},
		{"--plain takes both", map[string]string{"TERM": "xterm"}, true, screen.Screen{Width: 90}},
		{"so does a dumb terminal", map[string]string{"TERM": "dumb"}, false, screen.Screen{Width: 90}},
		{"and one that does not say what it is", nil, false, screen.Screen{Width: 90}},
	} {
		if got := allowed(90, row.plain, func(name string) string { return row.env[name] }); got != row.want {
			t.Errorf("%s: got %+v, want %+v", row.name, got, row.want)
		}
	}
}
