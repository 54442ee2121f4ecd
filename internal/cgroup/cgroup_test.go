package cgroup

import (
	"testing"
	"testing/fstest"
)

func TestMemoryIsThatOfTheGroupAndThoseAround(t *testing.T) {
	for _, row := range []struct {
		name  string
		files map[string]string
		want  Memory
	}{
		{"a pod: its own group is the root",
			map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "4294967296\n",
				"sys/fs/cgroup/memory.events": "low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\noom_group_kill 0\n"}, Memory{4 << 30, 1}},
		{"a host without limits", map[string]string{"proc/self/cgroup": "0::/user.slice/a.scope\n",
			"sys/fs/cgroup/user.slice/memory.max":            "max\n",
			"sys/fs/cgroup/user.slice/a.scope/memory.max":    "max\n",
			"sys/fs/cgroup/user.slice/a.scope/memory.events": "oom_kill 0\n"}, Memory{0, 0}},
		{"the group around is smaller",
			map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "1000\n",
				"sys/fs/cgroup/a/b/memory.max": "2000\n", "sys/fs/cgroup/a/b/memory.events": "oom_kill 3\n",
				"sys/fs/cgroup/a/memory.events": "oom_kill 7\n"}, Memory{1000, 3}},
		{"a container that is told its path on the host",
			map[string]string{"proc/self/cgroup": "0::/docker/f00\n", "sys/fs/cgroup/memory.max": "1000\n",
				"sys/fs/cgroup/memory.events": "oom_kill 2\n"}, Memory{1000, 2}},
		{"the older interface", map[string]string{"proc/self/cgroup": "4:memory:/job\n3:cpuset:/\n0::/\n",
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "536870912\n",
			"sys/fs/cgroup/memory/job/memory.oom_control":    "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n"}, Memory{512 << 20, 5}},
		{"the older interface without a limit", map[string]string{"proc/self/cgroup": "4:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"},
			Memory{0, -1}},
		{"no Linux", nil, Memory{0, -1}},
	} {
		t.Run(row.name, func(t *testing.T) {
			system := fstest.MapFS{}
			for name, text := range row.files {
				system[name] = &fstest.MapFile{Data: []byte(text)}
			}
			if got := read(system); got != row.want {
				t.Errorf("got %+v, want %+v", got, row.want)
			}
		})
	}
}
