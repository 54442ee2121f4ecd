package app

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/generator/profiles"
	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/runs/resolve"
	"bflow.dev/bflow/tasks/step"
)

func profilesCommand(s Streams) *cli.Command {
	flags := func(more ...cli.Flag) []cli.Flag {
		return append([]cli.Flag{&cli.StringSliceFlag{Name: "profiles", Aliases: []string{"profiles-dir"},
			Usage: "folder with your own profiles; repeatable"}}, more...)
	}
	return &cli.Command{
		Name:  "profiles",
		Usage: "list and show profiles",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list profiles by kind", Flags: flags(outputFlag()),
				Action: func(c *cli.Context) error { return listProfiles(c, s) }},
			{Name: "show", Usage: "print the profiles with this name as YAML", ArgsUsage: "PROFILE", Flags: flags(),
				Action: func(c *cli.Context) error { return showProfile(c, s) }},
		},
	}
}

// profileLine is one profile in a listing.
type profileLine struct {
	Kind         string `json:"kind"`
	Name         string `json:"name"`
	File         string `json:"file"`
	About        string `json:"about,omitempty"`
	Undeployable bool   `json:"undeployable,omitempty"` // bflow cannot deploy it yet
}

func catalogue(c *cli.Context, s Streams) ([]spec.ProfileRef, error) {
	set, found := spec.Load(spec.Options{Shipped: profiles.FS, ProfileDirs: c.StringSlice("profiles")})
	if err := resolve.PrintProblems(s.Err, found); err != nil {
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
		lines[i] = profileLine{Kind: r.Kind, Name: r.Name, File: r.File, About: about(r.Root), Undeployable: !canDeploy(r)}
	}
	return show(c, s.Out, lines, func(w io.Writer) error {
		fmt.Fprintln(w, "KIND\tNAME\tFROM\tABOUT")
		for _, l := range lines {
			if l.Undeployable {
				l.About += " (bflow cannot deploy it yet)"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", l.Kind, l.Name, from(l.File), l.About)
		}
		return nil
	})
}

// canDeploy reports whether bflow can deploy what a profile says, as far as it says so.
func canDeploy(r spec.ProfileRef) bool {
	of := func(field string) string {
		if n := spec.Get(r.Root, spec.Path{{Key: "spec"}, {Key: field}}); n != nil {
			return n.Value
		}
		return ""
	}
	b := platform.Block{Platform: of("platform"), Mode: of("mode"), Gateway: of("gateway")}
	return r.Kind != spec.KindDeployment || platform.All().Named(b.Platform).Lacks(&b) == ""
}

// from is where a person finds the file of a profile: a shipped one is part of bflow.
func from(file string) string {
	if strings.HasPrefix(file, "shipped/") {
		return "shipped"
	}
	return file
}

// about is what the comment above a profile says first, up to the end of that clause.
func about(root *yaml.Node) string {
	text := strings.ReplaceAll(strings.TrimPrefix(root.HeadComment, "# "), "\n# ", " ")
	if at := regexp.MustCompile(`[:;.?](\s|$)`).FindStringIndex(text); at != nil {
		return strings.TrimRight(text[:at[0]+1], ":;.")
	}
	return text
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
		return step.Usagef("showing profile: no profile named %q; closest: %s",
			name, strings.Join(problem.Closest(name, names, 3), ", "))
	}
	return errors.Join(err, enc.Close())
}

// profileNames are those of all profiles that can be found.
func profileNames(c *cli.Context) (names []string) {
	// a broken one has no name to offer
	set, _ := spec.Load(spec.Options{Shipped: profiles.FS, ProfileDirs: c.StringSlice("profiles")})
	for _, r := range set.Catalogue.Profiles() {
		names = append(names, r.Name)
	}
	return names
}
