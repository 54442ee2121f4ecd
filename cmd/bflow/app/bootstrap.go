package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"bflow.dev/bflow/bootstrap"
	"bflow.dev/bflow/bootstrap/component"
	"bflow.dev/bflow/bootstrap/mirror"
	"bflow.dev/bflow/bootstrap/objects"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/runs/resolve"
	"bflow.dev/bflow/tasks/step"
)

func bootstrapCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:  "bootstrap",
		Usage: "install bflow on a cluster, with Tekton and Kueue where they are missing",
		Description: "Installs what is missing and does not touch what others have installed. Running it again " +
			"changes nothing. " +
			"The manifests are part of this program, so only the cluster must be reachable.",
		Flags: installFlags(
			&cli.BoolFlag{Name: "single-cluster", Usage: "use this one cluster for runs and model servers"},
			&cli.BoolFlag{Name: "dry-run", Usage: "print the changes as a diff without applying them"},
			&cli.BoolFlag{Name: "export", Usage: "print the manifests instead of applying them; needs no cluster"},
			&cli.BoolFlag{
				Name: "digests", Usage: "with --export: look up the digests of Tekton's and Kueue's images in their " +
					"registries, as an installation does",
			},
		),
		Action: func(c *cli.Context) error { return bootstrapAction(c, s) },
		Subcommands: []*cli.Command{bootstrapStatusCommand(s), bootstrapUpgradeCommand(s), bootstrapUninstallCommand(s),
			bootstrapImagesCommand(s),
			bootstrapNamespaceCommand(s)},
	}
}

// mirrorFlags say which images are meant and where they come from.
func mirrorFlags(more ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "registry", Usage: "REGISTRY[/PATH] of a mirror that replaces the registry of every image"},
		&cli.StringFlag{
			Name:  "image-map",
			Usage: "YAML file with lines FROM: TO, where FROM is an image, a repository, or a prefix that ends in /",
		},
		&cli.StringFlag{
			Name: "controller-image", Usage: "image of bflow-controller (default: from --lock or --image-prefix)",
		},
		&cli.StringFlag{Name: "image-prefix", Usage: "registry and path of bflow's images, referenced by tag"},
		lockFlag(),
	}, more...)
}

func installFlags(more ...cli.Flag) []cli.Flag {
	flags := []cli.Flag{
		&cli.StringSliceFlag{
			Name: "namespace", Aliases: []string{"n"}, Usage: "namespace for runs, added to the existing ones; " +
				"repeatable or comma-separated (default: " + objects.DefaultNamespace + ")",
		},
		&cli.StringFlag{Name: "overlay", Usage: "vanilla, openshift, air-gapped or dev (default: chosen by platform)"},
		&cli.StringFlag{
			Name: "load-node-selector", Usage: "KEY=VALUE[,...]: labels of the nodes for task pods (default: nodes " +
				"without GPUs, if a label identifies them)",
		},
		&cli.StringSliceFlag{
			Name:  "controller-flag",
			Usage: "pass a flag to bflow-controller, such as --controller-flag=--force-after=5m; repeatable",
		},
	}
	flags = append(flags, componentFlags(component.Flags(component.All()))...)
	flags = append(flags,
		&cli.BoolFlag{Name: "adopt", Usage: "take over Tekton and Kueue from others who installed them"},
		&cli.BoolFlag{
			Name:  "force-conflicts",
			Usage: "take ownership of fields that other field managers own, except replicas and resources",
		},
		&cli.DurationFlag{
			Name: "timeout", Value: 5 * time.Minute, Usage: "how long to wait for each component to become ready",
		},
	)
	return kubeFlags(mirrorFlags(slices.Concat(flags, keepFlags(), more)...)...)
}

func installOptions(c *cli.Context) (bootstrap.Options, error) {
	images, err := mirror.ReadMap(c.String("image-map"))
	if err != nil {
		return bootstrap.Options{}, step.Exit(contract.ExitUsage, err)
	}
	nodes, err := selectorFlag(c.String("load-node-selector"))
	if err != nil {
		return bootstrap.Options{}, err
	}
	image, client, err := ownImages(c)
	if err != nil {
		return bootstrap.Options{}, err
	}
	settings, err := componentSettings(c, component.Flags(component.All()))
	if err != nil {
		return bootstrap.Options{}, err
	}
	controller, err := controllerFlags(c)
	if err != nil {
		return bootstrap.Options{}, err
	}
	var namespaces []string
	for _, n := range c.StringSlice("namespace") {
		namespaces = append(namespaces, strings.Split(n, ",")...)
	}
	o := bootstrap.Options{Version: step.Version, Namespaces: namespaces, Overlay: c.String("overlay"), Image: image,
		Client: client, LoadNodes: nodes,
		Controller: controller, Components: settings,
		Registry: c.String("registry"), ImageMap: images, Adopt: c.Bool("adopt"), Force: c.Bool("force-conflicts"),
		Timeout: c.Duration("timeout")}
	return o, step.Exit(contract.ExitUsage, o.Validate())
}

// ownImages are the images of the controller and of bflow itself that the flags name, "" where they name none: the
// second is beside the first then.
func ownImages(c *cli.Context) (controller, client string, err error) {
	const name = "bflow-controller"
	if image := c.String("controller-image"); image != "" {
		return image, "", nil
	}
	if prefix := strings.TrimRight(c.String("image-prefix"), "/"); prefix != "" {
		return prefix + "/" + name + ":" + step.Version, "", nil
	}
	lock, err := imageLock(c)
	return lock[name], lock["bflow"], err
}

func selectorFlag(text string) (map[string]string, error) {
	if text == "" {
		return nil, nil
	}
	labels := map[string]string{}
	for _, pair := range strings.Split(text, ",") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, step.Usagef("reading flag --load-node-selector: %q: want KEY=VALUE", pair)
		}
		labels[key] = value
	}
	return labels, nil
}

func bootstrapAction(c *cli.Context, s Streams) error {
	if c.NArg() > 0 {
		return group(c)
	}
	if !c.Bool("single-cluster") {
		return step.Usagef("reading flags of \"bootstrap\": give --single-cluster, so that runs and model servers " +
			"share the cluster of the kubeconfig")
	}
	o, err := installOptions(c)
	if err != nil {
		return err
	}
	if c.Bool("export") {
		return exportManifests(c, s, o)
	}
	hub, err := hubOf(c, s)
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return hub.DryRun(c.Context, o, s.Out)
	}
	if err := hub.Install(c.Context, o); err != nil {
		return err
	}
	fmt.Fprintln(s.Err, "ready: bflow run FILE starts a run")
	return nil
}

// exportManifests opens no socket unless it is asked to.
func exportManifests(c *cli.Context, s Streams, o bootstrap.Options) error {
	if c.Bool("digests") {
		var err error
		if o, err = o.WithDigests(c.Context, func(reason string, refs []string) {
			fmt.Fprintf(s.Err, "• by tag, because %s: %s\n", reason, strings.Join(refs, ", "))
		}); err != nil {
			return err
		}
	}
	return bootstrap.Export(s.Out, o)
}

func hubOf(c *cli.Context, s Streams) (*bootstrap.Hub, error) {
	cfg, err := kubeConfig(c)
	if err != nil {
		return nil, err
	}
	return bootstrap.Connect(cfg, s.Err)
}

func bootstrapStatusCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:        "status",
		Usage:       "compare the cluster with the expected installation",
		Description: "Changes nothing. Exits with 1 if anything is missing, modified or not ready.",
		Flags:       installFlags(outputFlag()),
		Action: func(c *cli.Context) error {
			o, err := installOptions(c)
			if err != nil {
				return err
			}
			hub, err := hubOf(c, s)
			if err != nil {
				return err
			}
			state, err := hub.Status(c.Context, o)
			if err != nil {
				return err
			}
			if err := show(c, s.Out, state, func(w io.Writer) error { state.Print(s.Out); return nil }); err != nil {
				return err
			}
			if len(state.Findings) > 0 {
				return runs.Code(contract.ExitFail)
			}
			return nil
		},
	}
}

func bootstrapUpgradeCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:  "upgrade",
		Usage: "upgrade an installation to the versions of this bflow",
		Description: "Keeps the flags of the installation except for those given now, and deletes objects that this " +
			"version no longer has.",
		Flags: installFlags(&cli.BoolFlag{Name: "dry-run", Usage: "print the changes as a diff without applying them"}),
		Action: func(c *cli.Context) error {
			o, err := installOptions(c)
			if err != nil {
				return err
			}
			o.Upgrade = true
			hub, err := hubOf(c, s)
			if err != nil {
				return err
			}
			if c.Bool("dry-run") {
				return hub.DryRun(c.Context, o, s.Out)
			}
			return hub.Install(c.Context, o)
		},
	}
}

func bootstrapUninstallCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:  "uninstall",
		Usage: "remove what bootstrap installed",
		Description: "Ends all runs, then deletes exactly what bootstrap created. Keeps objects of others, with " +
			"their namespaces and CRDs. " +
			"Keeps the results of runs unless --data is given or you confirm their deletion.",
		Flags: kubeFlags(
			&cli.BoolFlag{Name: "data", Usage: "also delete the results of runs"},
			&cli.BoolFlag{
				Name: "yes", Aliases: []string{"y"},
				Usage: "uninstall without asking; data is kept unless --data is given",
			},
			&cli.DurationFlag{Name: "timeout", Value: 15 * time.Minute, Usage: "how long to wait for each step"},
		),
		Action: func(c *cli.Context) error {
			hub, err := hubOf(c, s)
			if err != nil {
				return err
			}
			o := bootstrap.UninstallOptions{Data: c.Bool("data"), Timeout: c.Duration("timeout")}
			if !c.Bool("yes") {
				ask, err := asker(c.Context, s)
				if err != nil {
					return err
				}
				if !ask("Uninstall bflow, and end all its runs?") {
					return step.Exit(contract.ExitInterrupted, errors.New("nothing was uninstalled"))
				}
				o.Ask = ask
			}
			return hub.Uninstall(c.Context, o)
		},
	}
}

// asker puts questions to the person at the terminal; without one there is nobody to ask.
func asker(ctx context.Context, s Streams) (func(string) bool, error) {
	in, ok := s.In.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return nil, step.Usagef("reading flags of \"uninstall\": there is no terminal to ask for confirmation; give " +
			"--yes, and --data to also delete results")
	}
	return questions(ctx, in, s.Err), nil
}

// questions asks one after another. An interruption is a no.
func questions(ctx context.Context, in io.Reader, out io.Writer) func(string) bool {
	lines := bufio.NewScanner(in)
	return func(question string) bool {
		fmt.Fprintf(out, "%s [y/N] ", question)
		text, _ := resolve.WhileAsked(ctx, func() ([]byte, error) { // what cannot be read is no yes
			lines.Scan()
			return lines.Bytes(), lines.Err()
		})
		answer := strings.ToLower(strings.TrimSpace(string(text)))
		return answer == "y" || answer == "yes"
	}
}

func bootstrapImagesCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:  "images",
		Usage: "list the images that bootstrap installs, to mirror them",
		Description: "Prints one image per line by its public name, followed by its mirrored name if --registry or " +
			"--image-map is given. Needs no cluster.",
		Flags: mirrorFlags(),
		Action: func(c *cli.Context) error {
			o, err := installOptions(c)
			if err != nil {
				return err
			}
			pairs, err := bootstrap.Images(o)
			if err != nil {
				return err
			}
			for _, pair := range pairs {
				line := pair[0]
				if pair[1] != pair[0] {
					line += " " + pair[1]
				}
				fmt.Fprintln(s.Out, line)
			}
			return nil
		},
	}
}
