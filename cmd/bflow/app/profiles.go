package app

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/generator/problem"
	"bflow.dev/bflow/generator/profiles"
	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/tasks/step"
)

func profilesCommand(s Streams) *cli.Command {
	flags := func(more ...cli.Flag) []cli.Flag {
		return append([]cli.Flag{&cli.StringSliceFlag{Name: "profiles", Aliases: []string{"profiles-dir"}, Usage: "folder of profiles beside the shipped ones; repeatable"}}, more...)
	}
	return &cli.Command{
		Name:  "profiles",
		Usage: "list and show profiles",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list profiles by kind", Flags: flags(outputFlag()), Action: func(c *cli.Context) error { return listProfiles(c, s) }},
			{Name: "show", Usage: "print profiles of that name as YAML", ArgsUsage: "NAME", Flags: flags(), Action: func(c *cli.Context) error { return showProfile(c, s) }},
		},
	}
}

// profileLine is one profile in a listing.
type profileLine struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	File    string `json:"file"`
	Comment string `json:"comment,omitempty"` // first line of the comment that opens it
}

func catalogue(c *cli.Context, s Streams) ([]spec.ProfileRef, error) {
	set, found := spec.Load(spec.Options{Shipped: profiles.FS, ProfileDirs: c.StringSlice("profiles")})
	if err := tell(s, found); err != nil {
		return nil, err
	}
	return set.Catalogue.Profiles(), nil
}

func listProfiles(c *cli.Context, s Streams) error {
	refs, err := catalogue(c, s)
	if err != nil {
		return err
	}
	lines := make([]profileLine, len(refs))
	for i, r := range refs {
		lines[i] = profileLine{Kind: r.Kind, Name: r.Name, File: r.File, Comment: comment(r.Root)}
	}
	return show(c, s.Out, lines, func(w io.Writer) error {
		fmt.Fprintln(w, "KIND\tNAME\tABOUT\tFILE")
		for _, l := range lines {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", l.Kind, l.Name, l.Comment, l.File)
		}
		return nil
	})
}

// comment is the first line of the comment above a document.
func comment(root *yaml.Node) string {
	text := root.HeadComment
	if text == "" && len(root.Content) > 0 {
		text = root.Content[0].HeadComment
	}
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(strings.TrimPrefix(line, "#"))
}

func showProfile(c *cli.Context, s Streams) error {
	name, err := oneArg(c, "profile name")
	if err != nil {
		return err
	}
	refs, err := catalogue(c, s)
	if err != nil {
		return err
	}
	enc := yaml.NewEncoder(s.Out)
	enc.SetIndent(2)
	var names []string
	shown := false
	for _, r := range refs {
		names = append(names, r.Name)
		if r.Name == name {
			shown = true
			err = errors.Join(err, enc.Encode(r.Root))
		}
	}
	if !shown {
		return step.Usagef("showing profile: no profile named %q; closest: %s", name, strings.Join(problem.Closest(name, names, 3), ", "))
	}
	return errors.Join(err, enc.Close())
}
