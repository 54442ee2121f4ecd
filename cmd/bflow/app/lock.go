package app

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/generator/plan"
	"bflow.dev/bflow/images/lock"
	"bflow.dev/bflow/internal/bounded"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs/resolve"
	"bflow.dev/bflow/tasks/step"
)

func lockFlag() cli.Flag {
	return &cli.StringFlag{Name: "lock", Aliases: []string{"images-lock"},
		Usage: "file with images by digest: " + lock.Name +
			" from bflow images push, or a JSON object that maps names to references (default: " + lock.Name +
			" in the working directory, unless --image-prefix or --local is given)"}
}

// imageLock reads the lock that --lock names. Without it, the one that images push left in the working directory is
// taken: whoever pushed images wants them used. Runs on this machine need none.
func imageLock(c *cli.Context) (plan.Lock, error) {
	path := c.String("lock")
	asked := path != ""
	if !asked {
		if c.String("image-prefix") != "" || c.Bool("local") {
			return nil, nil
		}
		path = lock.Name
	}
	data, err := bounded.ReadFile(path, resolve.MaxFile)
	if !asked && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, step.Usagef("reading the image lock: %w", err)
	}
	if !lock.Is(data) {
		refs, err := plan.ReadLock(data)
		return refs, step.Exit(contract.ExitUsage, err)
	}
	f, err := lock.Parse(data)
	if err != nil {
		return nil, step.Exit(contract.ExitUsage, err)
	}
	if f.Version != step.Version {
		fmt.Fprintf(c.App.ErrWriter, "warning: %s contains images of bflow %s, but this is bflow %s; push the images "+
			"again, or remove the file\n", path, f.Version, step.Version)
	}
	return f.References(), nil
}
