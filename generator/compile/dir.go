package compile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Index is the file that lists the others, one name per line, in the order in which they were written. It has no
// extension that kubectl reads.
const Index = "INDEX"

// The folders of a compilation. What is shared is named by its content, so applying it again changes nothing; a run
// has no name until the server gives it one, so each creation is another run.
const (
	Shared = "shared"
	Runs   = "runs"
)

// rank is the folder of a kind and how the names of its files begin, so that a folder created in the order of its
// names has what others need before them.
func rank(kind string) string {
	switch kind {
	case "Task":
		return Shared + "/0-task-"
	case "Pipeline":
		return Shared + "/1-pipeline-"
	case "ConfigMap":
		return Shared + "/2-configmap-"
	default:
		return Runs + "/"
	}
}

// WriteDir compiles plans into folder dir, one file per object: dir/shared for kubectl apply, dir/runs for kubectl
// create. The folder is made where it is missing. One that holds anything but an earlier compilation is refused; files
// of that are replaced.
func WriteDir(dir string, plans Plans, o Options) error {
	if err := clearDir(dir); err != nil {
		return err
	}
	d := dirWriter{dir: dir, header: header(o), used: map[string]int{}}
	// The index is written after an error too: it lets the next compilation clean up.
	return errors.Join(each(plans, o, d.write), d.writeIndex())
}

type dirWriter struct {
	dir, header string
	names       []string
	used        map[string]int // how many objects had this name before
}

func (d *dirWriter) writeIndex() error {
	index := strings.Join(d.names, "\n") + "\n"
	if err := os.WriteFile(filepath.Join(d.dir, Index), []byte(index), 0o644); err != nil {
		return fmt.Errorf("writing compiled objects: %w", err)
	}
	return nil
}

func (d *dirWriter) write(f file) error {
	name := d.fileName(f)
	text := append([]byte(d.header), f.text...)
	if err := os.WriteFile(filepath.Join(d.dir, name), text, 0o644); err != nil {
		return fmt.Errorf("writing %s %q: %w", f.kind, f.name, err)
	}
	d.names = append(d.names, name)
	return nil
}

// fileName numbers objects of equal name: the runs of two experiments, or a Task in two namespaces.
func (d *dirWriter) fileName(f file) string {
	name := rank(f.kind) + strings.TrimSuffix(f.name, "-")
	d.used[name]++
	if n := d.used[name]; n > 1 {
		name += fmt.Sprintf(".%d", n)
	}
	return name + ".yaml"
}

// clearDir removes the files that the index of an earlier compilation lists, and makes dir and its folders unless they
// hold what we did not write.
func clearDir(dir string) error {
	old, err := os.ReadFile(filepath.Join(dir, Index))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the earlier compilation: %w", err)
	}
	for name := range strings.FieldsSeq(string(old)) {
		if folder, file := path.Split(name); folder != Shared+"/" && folder != Runs+"/" || file == "" || file == ".." {
			return fmt.Errorf("reading the earlier compilation: %q in %s is not a file that compile writes", name,
				filepath.Join(dir, Index))
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing the earlier compilation: %w", err)
		}
	}
	if err := refuseStrangers(dir, Index, Shared, Runs); err != nil {
		return err
	}
	for _, folder := range []string{Shared, Runs} {
		folder = filepath.Join(dir, folder)
		if err := refuseStrangers(folder); err != nil {
			return err
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return fmt.Errorf("writing compiled objects: %w", err)
		}
	}
	return nil
}

// refuseStrangers keeps kubectl from creating what we did not write.
func refuseStrangers(dir string, ours ...string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading folder %q: %w", dir, err)
	}
	for _, e := range entries {
		if !slices.Contains(ours, e.Name()) {
			return fmt.Errorf("writing compiled objects: folder %q holds %q; name an empty folder", dir, e.Name())
		}
	}
	return nil
}
