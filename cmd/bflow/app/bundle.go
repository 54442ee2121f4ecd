package app

import (
	"fmt"
	"maps"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/images"
	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/pipelines/bundle"
	"bflow.dev/bflow/pipelines/bundle/content"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

func bundleCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:        "bundle",
		Usage:       "push bflow's Tasks and Pipelines as a Tekton bundle",
		Subcommands: []*cli.Command{bundlePushCommand(s)},
	}
}

func bundlePushCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "push",
		Usage:     "push the bundle and print its digest reference, for --bundle of compile and run",
		ArgsUsage: "REF",
		Flags: []cli.Flag{
			lockFlag(),
			&cli.StringFlag{
				Name:  "image-prefix",
				Usage: "registry and path of the task images, referenced by tag, instead of --lock",
			},
			&cli.StringFlag{
				Name: "out", Usage: "write the bundle to this file, a tarball of an OCI layout, instead of pushing it",
			},
			insecureFlag(),
		},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return step.Usagef("reading arguments of %q: want one reference, such as "+
					"registry.example/team/bflow/tasks:%s", c.Command.FullName(), compile.Tag(step.Version))
			}
			img, err := bundleImage(c)
			if err != nil {
				return err
			}
			ref, err := storeBundle(c, c.Args().First(), img)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(s.Out, ref)
			return err
		},
	}
}

// bundleImage is the bundle of this version, with the images of the lock or of --image-prefix.
func bundleImage(c *cli.Context) (v1.Image, error) {
	locked, err := imageLock(c)
	if err != nil {
		return nil, err
	}
	prefix := c.String("image-prefix")
	if prefix == "" {
		prefix = compile.DefaultImagePrefix
	}
	refs := map[string]string{}
	for _, name := range append(contract.Binaries(), contract.SimEngine, "bflow") {
		refs[name] = strings.TrimRight(prefix, "/") + "/" + name + ":" + compile.Tag(step.Version)
	}
	maps.Copy(refs, locked)
	objects, err := content.Objects(pipelines.Release{Version: compile.Tag(step.Version), Images: refs})
	if err != nil {
		return nil, err
	}
	return bundle.Image(objects)
}

// storeBundle pushes the bundle, or writes it to the file that --out names. It returns the reference by digest.
func storeBundle(c *cli.Context, ref string, img v1.Image) (string, error) {
	path := c.String("out")
	if path == "" {
		return images.Registry{Insecure: c.Bool("insecure")}.Write(c.Context, ref, img)
	}
	f, err := os.Create(path)
	if err != nil {
		return "", fmt.Errorf("writing the bundle: %w", err)
	}
	if err := images.WriteArchive(f, ref, img); err != nil {
		f.Close()
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", fmt.Errorf("writing the bundle: %w", err)
	}
	return images.Pinned(ref, img)
}
