package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// place is where the checks find and keep things.
type place struct {
	root   string // of the checkout; what it needs besides lies in ../shared
	cache  string // kept between runs
	green  string // the record of the last green commit
	devkit string // the program that starts clusters
}

func locate() (place, error) {
	root, err := os.Getwd()
	if err != nil {
		return place{}, fmt.Errorf("finding the checkout: %w", err)
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		return place{}, fmt.Errorf("finding the checkout: run this from its root: %w", err)
	}
	home, err := os.UserCacheDir()
	if err != nil {
		return place{}, fmt.Errorf("finding the cache: %w", err)
	}
	p := place{root: root, cache: cmp.Or(os.Getenv("CI_CACHE"), filepath.Join(home, "bflow-ci"))}
	p.green = filepath.Join(p.cache, "green.json")
	p.devkit = filepath.Join(root, "../shared/devcluster/devcluster")
	return p, os.MkdirAll(p.cache, 0o755)
}

// leastFree is what the caches, the images and the clusters of a run take on disk, with some room.
const leastFree = 8 << 30

// roomFor fails where a run would fill the disk of a folder.
func roomFor(folder string) error {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(folder, &fs); err != nil {
		return fmt.Errorf("asking for the free space of %q: %w", folder, err)
	}
	if free := fs.Bavail * uint64(fs.Bsize); free < leastFree {
		return fmt.Errorf("%q has %d MiB free and the checks may need %d: make room, for example with `go "+
			"clean -cache`", folder, free>>20, leastFree>>20)
	}
	return nil
}

// load is the load average of the machine over a minute, 0 where it is not known.
func load() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	word, _, _ := strings.Cut(string(text), " ")
	avg, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return 0
	}
	return avg
}
