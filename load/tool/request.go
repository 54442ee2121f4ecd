package tool

import (
	"bflow.dev/bflow/runplan"
)

// Request is what the words of another tool ask of load-gen.
type Request struct {
	Tool       string              // its name, as in profiles and plans
	Generation string              // of its words: 0.3, 0.4, 0.5, 0.6 or 0.7 for guidellm, else empty
	Endpoint   string              // base URL of the server, without /v1 and a slash at its end
	Model      string              // empty = the first that the server lists
	Key        Key                 // API key, empty = none
	Measure    runplan.Measurement // complete but for its hash; it names no Secret
	SLO        *runplan.SLO        // where the words hold objectives
	Outputs    []Output            // in the order they were asked for
	Quiet      bool                // no progress on the console
}

// Key is an API key, which no print shows.
type Key string

// String leaves the key out.
func (k Key) String() string {
	if k == "" {
		return ""
	}
	return "(a key)"
}

// GoString leaves the key out.
func (k Key) GoString() string { return k.String() }

// MarshalText leaves the key out.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Output is a result that is asked for.
type Output struct {
	Format   string
	Path     string // a file, or a folder where Folder is set; relative to the working directory
	Folder   bool   // Path is a folder: files get the names that the tool gives them
	Prefix   string // of the names of files in the folder
	Append   bool   // one more line in a file that is there already
	Detailed bool   // with what each request did
	YAML     bool   // instead of JSON
	Rows     int    // how many requests it shows at most; 0 = all

	Metrics     []string       // which latencies it holds; nil = the tool's
	Percentiles []float64      // which percentiles, in [0, 100]; nil = the tool's
	Extras      map[string]any // values that are copied into it
	Remark      string         // what is not as it was asked for, a sentence; "" = nothing
}

// Finding is something to say about a word: an error, or with Warning set a remark.
type Finding struct {
	Word    string // flag, variable or place in a file: --rate, GUIDELLM_RATE, perf.yaml:3:5
	Text    string // what is wrong and what to do
	Warning bool
}

// Error is the finding in one line.
func (f Finding) Error() string {
	if f.Word == "" {
		return f.Text
	}
	return f.Word + ": " + f.Text
}
