package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Lock maps a name to an image by digest: a task binary such as "load-gen", or an image reference as files write it,
// such as "vllm/vllm-openai:v0.23.0", to "reference@sha256:...". A lock file is this map as JSON.
type Lock map[string]string

var imageByDigest = regexp.MustCompile(`^[^@\s]+@sha256:[0-9a-f]{64}$`)

// ReadLock reads a lock file.
func ReadLock(b []byte) (Lock, error) {
	var lock Lock
	dec := json.NewDecoder(bytes.NewReader(b))
	if err := dec.Decode(&lock); err != nil {
		return nil, fmt.Errorf("reading the image lock: %w; want a JSON object of names to references by digest", err)
	}
	for name, ref := range lock {
		if !imageByDigest.MatchString(ref) {
			return nil, fmt.Errorf("reading the image lock: %q is %q, want REFERENCE@sha256:<64 hex digits>", name, ref)
		}
	}
	return lock, nil
}

var digestOnly = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// ParsePins reads "REFERENCE=sha256:..." arguments as a map of reference to digest.
func ParsePins(args []string) (map[string]string, error) {
	pins := make(map[string]string, len(args))
	for _, arg := range args {
		i := strings.LastIndex(arg, "=")
		if i <= 0 || !digestOnly.MatchString(arg[i+1:]) {
			return nil, fmt.Errorf("reading pin %q: want REFERENCE=sha256:<64 hex digits>", arg)
		}
		pins[arg[:i]] = arg[i+1:]
	}
	return pins, nil
}
