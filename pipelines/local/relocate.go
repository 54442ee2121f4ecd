package local

import "strings"

// relocation replaces paths of a container by folders of this host.
type relocation map[string]string // mount path to folder

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
