// Package cgroup reads the kernel's memory statistics of the control group of this process. It must not know its
// callers or change a group.
package cgroup

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// Memory is what is known of a control group and those that it lies in.
type Memory struct {
	Limit int64 // bytes that its processes may use together; 0 = as many as there are, or not known
	Kills int64 // processes of it that the kernel has killed because memory ran out; -1 = not known
}

// Own returns that of this process. Other systems than Linux tell nothing.
func Own() Memory { return read(os.DirFS("/")) }

// hierarchy is one of the two interfaces of the kernel.
type hierarchy struct {
	root          string // where it is mounted
	limit, events string // files of a group
}

func unified() hierarchy { return hierarchy{"sys/fs/cgroup", "memory.max", "memory.events"} }

func legacy() hierarchy {
	return hierarchy{"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.oom_control"}
}

// unlimited is more than any machine has: the older interface writes a number where there is no limit.
const unlimited = 1 << 60

func read(system fs.FS) Memory {
	m := Memory{Kills: -1}
	text, err := fs.ReadFile(system, "proc/self/cgroup")
	if err != nil {
		return m
	}
	h, group := place(string(text))
	// a container may see its own group at the root and be told its path on the host
	for at := group; ; at = path.Dir(at) {
		if m.Kills < 0 {
			m.Kills = h.kills(system, at)
		}
		if limit := h.limited(system, at); limit > 0 && (m.Limit == 0 || limit < m.Limit) {
			m.Limit = limit
		}
		if at == "/" || at == "." {
			return m
		}
	}
}

// place reads /proc/self/cgroup: lines of NUMBER:CONTROLLERS:PATH, where the unified hierarchy names no controllers.
func place(text string) (h hierarchy, group string) {
	h, group = unified(), "/"
	for _, line := range strings.Split(text, "\n") {
		parts := strings.SplitN(line, ":", 3)
		switch {
		case len(parts) < 3:
		case parts[1] == "memory":
			return legacy(), parts[2]
		case parts[1] == "":
			group = parts[2]
		}
	}
	return h, group
}

func (h hierarchy) limited(system fs.FS, group string) int64 {
	text, err := fs.ReadFile(system, path.Join(h.root, group, h.limit))
	if err != nil {
		return 0
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || limit >= unlimited { // "max"
		return 0
	}
	return limit
}

func (h hierarchy) kills(system fs.FS, group string) int64 {
	text, err := fs.ReadFile(system, path.Join(h.root, group, h.events))
	if err != nil {
		return -1
	}
	for _, line := range strings.Split(string(text), "\n") {
		var n int64
		if found, _ := fmt.Sscanf(line, "oom_kill %d", &n); found == 1 {
			return n
		}
	}
	return -1
}
