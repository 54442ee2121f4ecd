package tool

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"bflow.dev/bflow/internal/credential"
)

// handOver gives the block to the tool as it is, but for credentials and what the runner owns.
func (d *Draft) handOver() {
	if d.runsOwn == nil {
		d.Block.Errorf("tool_runner external needs a tool other than %s", d.Tool)
		return
	}
	d.Runner, d.Venv = RunnerExternal, d.src.Venv
	block, _ := d.Block.Any().(map[string]any)
	if block == nil { // an error is already reported
		return
	}
	d.runsOwn.Override(d, block)
	s := scrubber{block: d.Block}
	if d.secret != nil {
		s.key = d.secret.Value
	}
	d.External, _ = s.scrub("", block)
}

// SetOverride sets key of a block to v, where that is set.
func SetOverride(block map[string]any, key string, v Value) {
	if v.IsSet() {
		block[key] = v.Any()
	}
}

// scrubber drops what a tool must not get from its block.
type scrubber struct {
	block Value
	key   string // the API key, which the runner gives to the tool
}

// scrub drops credentials and what the runner sets, at every depth; false means that x itself, which is at path, is to
// be dropped. It reports credentials that go nowhere else.
func (s scrubber) scrub(path string, x any) (any, bool) {
	switch x := x.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) {
			at := strings.TrimPrefix(path+"."+k, ".")
			if credential.Name(k) {
				s.report(at, x[k])
				delete(x, k)
				continue
			}
			kept, ok := s.scrub(at, x[k])
			if !ok || isOwned(k) {
				delete(x, k)
				continue
			}
			x[k] = kept
		}
		return x, true
	case []any:
		out := make([]any, 0, len(x))
		for i, v := range x {
			if kept, ok := s.scrub(path+"["+strconv.Itoa(i)+"]", v); ok {
				out = append(out, kept)
			}
		}
		return out, true
	case string:
		return x, !s.holdsKey(x)
	default:
		return x, true
	}
}

func (s scrubber) holdsKey(text string) bool { return s.key != "" && strings.Contains(text, s.key) }

// report warns of a credential that the tool would miss.
func (s scrubber) report(path string, x any) {
	if text, ok := x.(string); x == nil || ok && (text == "" || s.holdsKey(text)) {
		return
	}
	s.block.Notef("%s is a credential, which no plan holds: the tool runs without it, "+
		"unless load.env names a variable of a Secret that it reads", path)
}

func isOwned(key string) bool {
	switch key {
	case "target", "base_url", "url", "output_path", "output_dir", "local_storage", "output_artifact_dir",
		"result_dir", "result_filename":
		return true
	}
	return false
}
