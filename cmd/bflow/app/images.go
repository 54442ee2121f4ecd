package app

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/images"
	"bflow.dev/bflow/images/lock"
	"bflow.dev/bflow/tasks/step"
)

func imagesCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:        "images",
		Usage:       "build and push the images of bflow's programs",
		Subcommands: []*cli.Command{imagesBuildCommand(s), imagesPushCommand(s)},
	}
}

// buildFlags are those that shape images.
func buildFlags(more ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{
		&cli.StringSliceFlag{Name: "platform", Usage: "linux/amd64 or linux/arm64; repeatable (default: both)"},
		&cli.StringSliceFlag{Name: "only", Usage: "name of an image; repeatable (default: all)"},
		&cli.StringFlag{
			Name:  "source",
			Usage: "folder with bflow's source (default: the checkout that contains the working directory)",
		},
		&cli.StringFlag{
			Name:  "image-version",
			Usage: "version to compile in and to tag the images with (default: the version of this bflow)",
		},
	}, more...)
}

func buildOptions(c *cli.Context, s Streams) (images.Options, error) {
	from := c.String("source")
	if from == "" {
		from = "."
	}
	source, err := images.FindSource(from)
	if err != nil {
		return images.Options{}, step.Usagef("%w", err)
	}
	version := c.String("image-version")
	if version == "" {
		version = step.Version
	}
	return images.Options{Source: source, Version: version, Prefix: c.String("prefix"),
		Platforms: c.StringSlice("platform"),
		Only:      c.StringSlice("only"), Progress: s.Err}, nil
}

func imagesBuildCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:  "build",
		Usage: "compile bflow and write its images to a folder",
		Flags: buildFlags(
			&cli.StringFlag{
				Name: "out", Value: "bflow-images", Usage: "folder for the OCI layout, the tarballs and " + lock.Name,
			},
			&cli.StringFlag{
				Name: "prefix", Value: images.LocalPrefix,
				Usage: "registry and path of the image names in the tarballs",
			}),
		Action: func(c *cli.Context) error {
			o, err := buildOptions(c, s)
			if err != nil {
				return err
			}
			dir := c.String("out")
			l, err := images.Build(c.Context, filepath.Join(dir, "oci"), o)
			if err != nil {
				return err
			}
			if err := writeArchives(s, dir, l); err != nil {
				return err
			}
			if err := lock.Write(filepath.Join(dir, lock.Name), l.Lock()); err != nil {
				return err
			}
			printImages(s.Out, l)
			return nil
		},
	}
}

// writeArchives writes a tarball per platform into dir.
func writeArchives(s Streams, dir string, l *images.Layout) error {
	for _, platform := range l.Platforms() {
		path := filepath.Join(dir, "bflow-"+strings.ReplaceAll(platform, "/", "-")+".tar")
		f, err := os.Create(path)
		if err != nil {
			return fmt.Errorf("writing the images of %s: %w", platform, err)
		}
		if err := l.Archive(f, platform); err != nil {
			f.Close()
			return err
		}
		if err := f.Close(); err != nil {
			return fmt.Errorf("writing the images of %s: %w", platform, err)
		}
		fmt.Fprintf(s.Err, "wrote %s, for ctr images import and docker load\n", path)
	}
	return nil
}

// printImages prints one line per image: what it is called, and what a node fetches of it.
func printImages(out io.Writer, l *images.Layout) {
	for _, img := range l.Images {
		var sizes []string
		for _, v := range img.Platforms {
			sizes = append(sizes, fmt.Sprintf("%s %.1f MB", v.Platform, float64(v.Size)/1e6))
		}
		fmt.Fprintf(out, "%s@%s  %s\n", img.Ref, img.Digest, strings.Join(sizes, ", "))
	}
}

func imagesPushCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:  "push",
		Usage: "push the images to a registry and write " + lock.Name,
		Flags: buildFlags(
			&cli.StringFlag{
				Name: "prefix", Usage: "registry and path to push to, such as registry.example/team/bflow; required",
			},
			&cli.StringFlag{
				Name:  "from",
				Usage: "push the images in this folder, written by bflow images build (default: build them now)",
			},
			&cli.StringFlag{Name: "lock", Value: lock.Name, Usage: "file to write the images to, by digest"},
			insecureFlag()),
		Action: func(c *cli.Context) error {
			if c.String("prefix") == "" {
				return step.Usagef("reading flags of %q: --prefix names the registry and folder, such as "+
					"registry.example/team/bflow", c.Command.FullName())
			}
			l, done, err := layoutToPush(c, s)
			if err != nil {
				return err
			}
			defer done()
			pushed, err := l.Push(c.Context, images.Registry{
				Prefix: c.String("prefix"), Insecure: c.Bool("insecure"), Progress: s.Err,
			})
			if err != nil {
				return err
			}
			for _, i := range pushed.Images {
				fmt.Fprintln(s.Out, i.Pinned())
			}
			return lock.Write(c.String("lock"), pushed)
		},
	}
}

func insecureFlag() cli.Flag {
	return &cli.BoolFlag{Name: "insecure", Usage: "allow plain HTTP and untrusted certificates"}
}

// layoutToPush opens the layout that --from names, or builds one; done removes what was built.
func layoutToPush(c *cli.Context, s Streams) (l *images.Layout, done func(), err error) {
	if from := c.String("from"); from != "" {
		if inner := filepath.Join(from, "oci"); isDir(inner) {
			from = inner
		}
		l, err = images.Open(from)
		return l, func() {}, err
	}
	o, err := buildOptions(c, s)
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "bflow-push-")
	if err != nil {
		return nil, nil, fmt.Errorf("building images: %w", err)
	}
	done = func() { os.RemoveAll(dir) }
	if l, err = images.Build(c.Context, dir, o); err != nil {
		done()
		return nil, nil, err
	}
	return l, done, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
