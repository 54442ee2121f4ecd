package powerloss

import (
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
)

// storage is what a disk holds for certain, and what it may hold.
type storage struct {
	files   map[int]*content
	folders map[int]map[string]int // id of a folder to its names, for certain
	names   []naming               // since then, in their order
	at      map[int]string         // the last path of files and folders
}

// content is a file.
type content struct {
	certain []byte
	changes []op // that nobody synced
	version int  // of certain
}

// naming is a change of names that some folder has not been synced after.
type naming struct {
	op
	waits []int // folders
}

func newStorage() *storage {
	return &storage{files: map[int]*content{}, folders: map[int]map[string]int{root: {}}, at: map[int]string{root: ""}}
}

// apply carries an operation out.
func (s *storage) apply(o op) {
	switch o.kind {
	case write, truncate:
		f := s.files[o.id]
		f.changes = append(f.changes, o)
	case fsync:
		s.sync(o.id)
	case link:
		if o.folder {
			s.folders[o.id] = map[string]int{}
		} else {
			s.files[o.id] = &content{}
		}
		s.at[o.id] = path.Join(s.at[o.dir], o.name)
		s.names = append(s.names, naming{o, []int{o.dir}})
	case unlink:
		s.names = append(s.names, naming{o, []int{o.dir}})
	case rename:
		s.at[o.id] = path.Join(s.at[o.dir2], o.name2)
		s.names = append(s.names, naming{o, slices.Compact([]int{o.dir, o.dir2})})
	}
}

func (s *storage) sync(id int) {
	if f := s.files[id]; f != nil {
		f.certain, f.version = f.whole(), f.version+len(f.changes)
		f.changes = nil
		return
	}
	var waiting []naming
	for _, n := range s.names {
		n.waits = slices.DeleteFunc(slices.Clone(n.waits), func(dir int) bool { return dir == id })
		if len(n.waits) == 0 {
			n.rename(s.folders)
		} else {
			waiting = append(waiting, n)
		}
	}
	s.names = waiting
}

// rename makes the change in folders.
func (n naming) rename(folders map[int]map[string]int) {
	switch n.kind {
	case link:
		folders[n.dir][n.name] = n.id
	case unlink:
		delete(folders[n.dir], n.name)
	case rename:
		if folders[n.dir][n.name] == n.id {
			delete(folders[n.dir], n.name)
		}
		folders[n.dir2][n.name2] = n.id
	}
}

// fate is what becomes of data that nobody synced.
type fate string

const (
	kept   fate = "kept"
	lost   fate = "lost"
	halved fate = "half there" // the first half of the changes, and half of the one after them
	zeroed fate = "zeros"      // the file has its length and not its content
)

func (f *content) whole() []byte {
	data := slices.Clone(f.certain)
	for _, c := range f.changes {
		data = c.change(data)
	}
	return data
}

func (f *content) after(what fate) []byte {
	switch what {
	case kept:
		return f.whole()
	case zeroed:
		data := make([]byte, len(f.whole()))
		copy(data, f.certain)
		return data
	case halved:
		data, n := slices.Clone(f.certain), len(f.changes)/2
		for _, c := range f.changes[:n] {
			data = c.change(data)
		}
		if n < len(f.changes) {
			half := f.changes[n]
			half.data = half.data[:len(half.data)/2]
			if half.kind == write {
				data = half.change(data)
			}
		}
		return data
	default:
		return slices.Clone(f.certain)
	}
}

// held is a file of a state: what it was at that moment, and what became of it.
type held struct {
	content
	id   int
	what fate
}

func (h held) data() []byte { return h.after(h.what) }

// same is equal for files that hold the same.
func (h held) same() string {
	switch {
	case h.what == kept:
		return fmt.Sprintf("%d/%d", h.id, h.version+len(h.changes))
	case h.what == lost || len(h.changes) == 0:
		return fmt.Sprintf("%d/%d", h.id, h.version)
	}
	return fmt.Sprintf("%d/%d/%d/%s", h.id, h.version, len(h.changes), h.what)
}

// states are those that a crash at this moment may leave: data that nobody synced is kept, lost, there by halves or
// zeros; of the names that nobody synced all, none and some that rng draws, and of those that look wants all but one,
// and one alone.
func (s *storage) states(rng *rand.Rand, look func(string) bool) iter.Seq2[string, map[string]held] {
	return func(yield func(string, map[string]held) bool) {
		draws := make([]bool, len(s.names))
		for i := range draws {
			draws[i] = rng.IntN(2) == 0
		}
		choices := map[string]func(int) bool{
			"every name": func(int) bool { return true },
			"no name":    func(int) bool { return false },
			"some names": func(i int) bool { return draws[i] },
		}
		for i, n := range s.names {
			if name := s.wanted(n, look); name != "" {
				choices["every name but "+name] = func(j int) bool { return j != i }
				choices["no name but "+name] = func(j int) bool { return j == i }
			}
		}
		for _, name := range slices.Sorted(maps.Keys(choices)) {
			paths := s.paths(choices[name])
			for _, what := range []fate{kept, lost, halved, zeroed} {
				if !yield(name+", data "+string(what), s.contents(paths, what)) {
					return
				}
			}
		}
	}
}

// wanted names a change of names that look wants, "" for another one.
func (s *storage) wanted(n naming, look func(string) bool) string {
	from, to := path.Join(s.at[n.dir], n.name), path.Join(s.at[n.dir2], n.name2)
	switch {
	case n.kind == rename && look(to):
		return "the renaming to " + to
	case n.kind != rename && (look(from) || n.folder):
		return fmt.Sprintf("the %s of %s", map[kind]string{link: "making", unlink: "removal"}[n.kind], from)
	}
	return ""
}

// paths are the files that have a name where only some of the changes of names have reached the disk.
func (s *storage) paths(reached func(int) bool) map[string]int {
	folders := make(map[int]map[string]int, len(s.folders))
	for id, names := range s.folders {
		folders[id] = maps.Clone(names)
	}
	for i, n := range s.names {
		if reached(i) {
			n.rename(folders)
		}
	}
	out := map[string]int{}
	var walk func(id int, at string)
	walk = func(id int, at string) {
		for name, child := range folders[id] {
			if _, ok := folders[child]; ok {
				walk(child, path.Join(at, name))
			} else {
				out[path.Join(at, name)] = child
			}
		}
	}
	walk(root, "")
	return out
}

// contents are the files of paths.
func (s *storage) contents(paths map[string]int, what fate) map[string]held {
	out := make(map[string]held, len(paths))
	for at, id := range paths {
		out[at] = held{*s.files[id], id, what}
	}
	return out
}

// key is the same for two states that hold the same in the files that look wants.
func key(files map[string]held, look func(string) bool) uint64 {
	h := fnv.New64a()
	for _, at := range slices.Sorted(maps.Keys(files)) {
		if look(at) {
			fmt.Fprintf(h, "%s\x00%s\x00", at, files[at].same())
		}
	}
	return h.Sum64()
}
