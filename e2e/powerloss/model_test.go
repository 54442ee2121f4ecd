package powerloss

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// after are the states that a crash after ops may leave, as "name=content" of every file.
func after(ops ...op) []string {
	s := newStorage()
	for _, o := range ops {
		s.apply(o)
	}
	all := map[string]bool{}
	for _, files := range s.states(rand.New(rand.NewPCG(1, 1)), func(string) bool { return true }) {
		var words []string
		for _, name := range slices.Sorted(maps.Keys(files)) {
			words = append(words, fmt.Sprintf("%s=%s", name, strings.ReplaceAll(string(files[name].data()), "\x00", "0")))
		}
		all[strings.Join(words, " ")] = true
	}
	return slices.Sorted(maps.Keys(all))
}

func TestWhatACrashMayLeave(t *testing.T) {
	begin, text, synced := op{kind: link, name: "tmp", id: 1}, op{kind: write, id: 1, data: []byte("text")},
		op{kind: fsync, id: 1}
	named, folderSynced := op{kind: rename, name: "tmp", name2: "file", id: 1}, op{kind: fsync, id: root}
	for _, row := range []struct {
		name string
		ops  []op
		want []string
	}{
		{"a file that nobody synced has no name, or none of its content", []op{begin, text},
			[]string{"", "tmp=", "tmp=0000", "tmp=te", "tmp=text"}},
		{"one that was renamed before it is on disk may be empty under its name",
			[]op{begin, text, named, folderSynced}, []string{"file=", "file=0000", "file=te", "file=text"}},
		{"one that is on disk before it is renamed is there under one of its names, or not at all",
			[]op{begin, text, synced, named}, []string{"", "file=text", "tmp=text"}},
		{"once its folder is on disk it is there", []op{begin, text, synced, named, folderSynced}, []string{"file=text"}},
		{"what is added to a file that is on disk may be lost",
			[]op{begin, text, synced, folderSynced, {kind: write, id: 1, off: 4, data: []byte("more")}},
			[]string{"tmp=text", "tmp=text0000", "tmp=textmo", "tmp=textmore"}},
		{"a removal may be lost", []op{begin, text, synced, folderSynced, {kind: unlink, name: "tmp"}},
			[]string{"", "tmp=text"}},
		{"a file in a folder that nobody synced may be lost with it",
			[]op{{kind: link, name: "dir", id: 2, folder: true}, {kind: link, dir: 2, name: "a", id: 1},
				{kind: fsync, id: 2}},
			[]string{"", "dir/a="}},
		{"a move is on disk with both folders",
			[]op{begin, synced, {kind: link, name: "dir", id: 2, folder: true}, folderSynced,
				{kind: rename, name: "tmp", dir2: 2, name2: "b", id: 1}, folderSynced, {kind: fsync, id: 2}}, []string{"dir/b="}},
	} {
		if diff := cmp.Diff(row.want, after(row.ops...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}
