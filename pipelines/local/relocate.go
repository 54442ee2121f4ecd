package local

import (
	"strings"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// relocation replaces paths of a container by folders of this host.
type relocation map[string]string // mount path to folder

// step replaces the paths that the author of a Task wrote into a step. It comes before the variables are replaced:
// their values are folders of this host already, and may lie below a mount path such as /tmp.
func (r relocation) step(s *v1.Step) {
	for i := range s.Args {
		s.Args[i] = r.apply(s.Args[i])
	}
	for i := 1; i < len(s.Command); i++ {
		s.Command[i] = r.apply(s.Command[i])
	}
	for i := range s.Env {
		s.Env[i].Value = r.apply(s.Env[i].Value)
	}
	s.WorkingDir = r.apply(s.WorkingDir)
}

// apply replaces the mount paths in s where a path starts: at its start, or after one of "=:,".
func (r relocation) apply(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] != '/' || i > 0 && !strings.ContainsRune("=:,", rune(s[i-1])) {
			continue
		}
		if from := r.longest(s[i:]); from != "" {
			s = s[:i] + r[from] + s[i+len(from):]
			i += len(r[from])
		}
	}
	return s
}

// longest returns the longest mount path that s begins with, as a whole path.
func (r relocation) longest(s string) string {
	best := ""
	for from := range r {
		rest, ok := strings.CutPrefix(s, from)
		if ok && len(from) > len(best) && (rest == "" || strings.ContainsRune("/:,", rune(rest[0]))) {
			best = from
		}
	}
	return best
}
