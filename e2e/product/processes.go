package product

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"bflow.dev/bflow/internal/eventually"
)

// Processes lists the living processes that have to do with the run, one text each: those whose environment or command
// line names its directory.
func (r Run) Processes() []string {
	r.t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		r.t.Fatal(err)
	}
	var found []string
	for _, dir := range dirs {
		if line, ok := r.owns(dir); ok {
			found = append(found, filepath.Base(dir)+": "+line)
		}
	}
	return found
}

func (r Run) owns(proc string) (string, bool) {
	if filepath.Base(proc) == strconv.Itoa(os.Getpid()) {
		return "", false
	}
	args, _ := os.ReadFile(filepath.Join(proc, "cmdline")) // one that has just ended is nobody's
	env, _ := os.ReadFile(filepath.Join(proc, "environ"))
	stat, _ := os.ReadFile(filepath.Join(proc, "stat"))
	dead := bytes.Contains(stat, []byte(") Z "))
	return strings.ReplaceAll(string(args), "\x00", " "), !dead &&
		(bytes.Contains(args, []byte(r.Dir)) || bytes.Contains(env, []byte(r.Dir)))
}

// AwaitNoProcess waits until none is left.
func (r Run) AwaitNoProcess() {
	r.t.Helper()
	eventually.Nil(r.t, "the end of every process of "+r.ID(), func() error {
		if left := r.Processes(); len(left) > 0 {
			return fmt.Errorf("%q", left)
		}
		return nil
	})
}

// PID returns the process of the run whose command line says word, such as "load-gen".
func (r Run) PID(word string) int {
	r.t.Helper()
	for _, text := range r.Processes() {
		number, line, _ := strings.Cut(text, ": ")
		if says(line, word) {
			pid, err := strconv.Atoi(number)
			if err != nil {
				r.t.Fatal(err)
			}
			return pid
		}
	}
	r.t.Fatalf("no process of %s says %q: %s", r.ID(), word, fmt.Sprint(r.Processes()))
	return 0
}

// says whether word is one of a command's first three words, folders left out.
func says(line, word string) bool {
	words := strings.Fields(line)
	for _, w := range words[:min(3, len(words))] {
		if filepath.Base(w) == word {
			return true
		}
	}
	return false
}
