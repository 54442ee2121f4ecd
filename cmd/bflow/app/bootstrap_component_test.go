package app

import (
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/bootstrap/component"
)

// TestComponentsDefineTheirFlags: a component says what a flag is called and of which kind; the command line does the
// rest.
func TestComponentsDefineTheirFlags(t *testing.T) {
	echo := func(given []string) (any, error) { return given, nil }
	defined := []component.Flag{
		{Name: "word", Key: "word", Kind: component.Text, Parse: echo},
		{Name: "item", Key: "items", Kind: component.Texts, Parse: echo},
		{Name: "count", Key: "count", Kind: component.Number, Parse: echo},
		{Name: "on", Key: "on", Kind: component.Switch, Parse: echo},
	}
	for _, row := range []struct {
		name, args string
		want       component.Settings
	}{
		{"none is given", "", component.Settings{}},
		{"each is given", "--word a --item b --item c --count 3 --on", component.Settings{
			"word": []byte(`["a"]`), "items": []byte(`["b","c"]`), "count": []byte(`["3"]`), "on": []byte(`["true"]`)}},
		{"a switch is taken back", "--on=false", component.Settings{"on": []byte(`["false"]`)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got component.Settings
			app := &cli.App{Flags: componentFlags(defined), Action: func(c *cli.Context) (err error) {
				got, err = componentSettings(c, defined)
				return err
			}}
			if err := app.Run(append([]string{"x"}, strings.Fields(row.args)...)); err != nil {
				t.Fatal(err)
			}
			if len(got) != len(row.want) {
				t.Errorf("got %s", got)
			}
			for key, want := range row.want {
				if string(got[key]) != string(want) {
					t.Errorf("%s is %s, want %s", key, got[key], want)
				}
			}
		})
	}
}
