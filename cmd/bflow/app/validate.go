package app

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/generator/plan"
	"bflow.dev/bflow/generator/profiles"
	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/runs/resolve"
)

func validateCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:        "validate",
		Usage:       "validate files, or every profile in a folder",
		ArgsUsage:   "FILE|DIR...",
		Description: "Prints every problem with its position and a hint, and exits with 2 if any is an error.",
		Flags:       planFlags(),
		Action: func(c *cli.Context) error {
			in, err := readFiles(c, s, spec.Options{CheckAll: true})
			if err != nil {
				return err
			}
			if err := planProfiles(c, s, in); err != nil {
				return err
			}
			points := 0
			if len(in.Set.Experiments)+len(in.Set.RunPlans) > 0 {
				all, err := matrices(c, s, in)
				if err != nil {
					return err
				}
				for _, m := range all {
					points += m.Len()
				}
			}
			text := fmt.Sprintf("%s, %s", counted(len(in.Set.Experiments), "experiment"), counted(points, "run"))
			if n := len(in.Set.Profiles); n > 0 {
				text = counted(n, "profile") + ", " + text
			}
			fmt.Fprintf(s.Err, "valid: %s\n", text)
			return nil
		},
	}
}

// noFile is the name of a file that nobody has.
const noFile = "an experiment"

// planProfiles plans an experiment with each profile of the files, and tells what that finds in the profile itself: a
// profile alone may read well and mean nothing.
func planProfiles(c *cli.Context, s Streams, in resolve.Input) error {
	opt, err := planOptions(c)
	if err != nil {
		return err
	}
	var found problem.List
	for _, p := range in.Set.Profiles {
		if p.Kind == spec.KindDeployment {
			found.Add(undeployable(in, p.Name)...)
		}
		set, _ := spec.LoadBytes(spec.Options{Shipped: profiles.FS}, noFile, []byte(experimentWith(p)))
		if len(set.Experiments) != 1 {
			continue
		}
		m, problems := plan.Expand(set.Experiments[0], in.Set.Catalogue, opt)
		if m != nil {
			problems = append(problems, m.Check()...)
		}
		for _, wrong := range problems {
			if wrong.File != noFile {
				found.Add(wrong)
			}
		}
	}
	return resolve.PrintProblems(s.Err, found)
}

// undeployable warns of a profile whose platform bflow cannot deploy yet.
func undeployable(in resolve.Input, name string) (found problem.List) {
	profile, problems := in.Set.Catalogue.Deployment(name, nil, "")
	if problems.Err() != nil {
		return nil
	}
	where := platform.All().Named(profile.Spec.Platform)
	if lacking := where.Lacks(&profile.Spec.Block); lacking != "" {
		found.Add(profile.Warning("spec.platform", "%s", where.Undeployable(name, lacking)))
	}
	return found
}

// experimentWith is the smallest experiment that uses a profile.
func experimentWith(p spec.Profile) string {
	const base = "apiVersion: bflow.dev/v1alpha1\nkind: Experiment\nmetadata: {name: it}\nspec:\n  model: {name: " +
		"acme/model}\n  stages: {collect: false}\n"
	const sim, load = "  deployment_profile: sim\n",
		"  load: {data: {input: 8, output: 8}, stages: [{rate: 1, duration: 1s}]}\n"
	switch p.Kind {
	case spec.KindBenchmark:
		return base + sim + fmt.Sprintf("  benchmark_profile: %q\n", p.Name)
	case spec.KindMetrics:
		return base + sim + load + fmt.Sprintf("  metrics_profile: %q\n", p.Name)
	}
	// An image is what a profile may leave to its experiments.
	return base + load +
		fmt.Sprintf("  deployment_profile: %q\n  overrides: {images: {runtime: registry.example/server:v1}}\n", p.Name)
}

// counted is "1 run", "2 runs".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
