// Package engine says what bflow knows of each model server program: where it listens, what it is started with, which
// files it reads, how long its start may take. An engine is one file and a line in All; it runs in the pods of every
// platform that has room for it. Package engine must not know how a platform makes pods, nor talk to a server.
package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"bflow.dev/bflow/runplan"
)

// Engine is one kind of model server program.
type Engine struct {
	Kind  string // as files and plans have it
	About string // what it is, in a few words

	// Where it listens, unless a file says so. Of a platform that has a port of its own, that one counts, but for an
	// engine with a FixedPort. A port of 0 is a free one.
	Port, MetricsPort int
	FixedPort         bool
	HealthPath        string
	MetricsPath       string
	// MetricsOf is the engine by whose names an endpoint picker reads its metrics, "" where none knows them.
	MetricsOf string

	// ServesFiles says that it loads the files of a model, from a volume or by the name of the model.
	ServesFiles bool
	// OwnImage is the task image of bflow that holds it, "" where a file names its image.
	OwnImage string
	// NeedsCommand says that a file has to give its command line; NoVLLMArgs that it has no use for those of vLLM.
	NeedsCommand, NoVLLMArgs bool
	// Downloader is a program of its image, with its first arguments, that fetches a model: model, revision and folder
	// follow. It is nil where the image has none.
	Downloader []string
	// RunsHere says that bflow starts it on the machine of a local run, too. Its model comes by name there, and its
	// environment is that of the machine.
	RunsHere bool
	// Light says that it starts and ends within seconds, with few resources, as the user of its image.
	Light bool

	// StartBudget is how long it may take to load a model, beside the start of its pod.
	StartBudget func(e *runplan.Engine) time.Duration
	// Route is the path of requests to a server that bflow starts and that knows its model by another name than the plan;
	// nil = as it is.
	Route func(model, path string) string
	// Program is what runs, in a container or on the machine of a local run.
	Program func(d *runplan.Deployment, at Listener) (Program, error)
}

// Listener is where a program is to listen.
type Listener struct {
	Host string
	Port int
}

// Program is a server program and what it needs.
type Program struct {
	Command, Args []string
	Env           map[string]string // of a container, weaker than that of the plan
	Files         []File            // that it reads
}

// File is a text that a program finds at a path of its container.
type File struct{ Path, Text string }

// Default is the kind of an engine that a file does not name.
const Default = "vllm"

// loading is the StartBudget of an engine that loads and compiles a model of any size.
func loading(*runplan.Engine) time.Duration { return time.Hour }

// All are the engines that bflow knows, in the order in which messages name them. A new one is a line here.
func All() []Engine {
	return []Engine{vllm(), sglang(), triton(), tgi(), sim(), llmdSim(), command()}
}

// Find returns the engine of a kind.
func Find(kind string) (Engine, bool) {
	all := All()
	if i := slices.IndexFunc(all, func(e Engine) bool { return e.Kind == kind }); i >= 0 {
		return all[i], true
	}
	return Engine{}, false
}

// Of returns the engine of a kind. One that is not known has a command line in its file, and nothing of its own.
func Of(kind string) Engine {
	if e, ok := Find(kind); ok {
		return e
	}
	e := command()
	e.Kind = kind
	return e
}

// Kinds are the kinds of all engines.
func Kinds() []string {
	var kinds []string
	for _, e := range All() {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// revision is an argument with the revision of a model that is loaded by its name.
func revision(d *runplan.Deployment) []string {
	if d.ModelStorage != nil || d.Model.Revision == "" {
		return nil
	}
	return []string{"--revision=" + d.Model.Revision}
}

// gpus is the number of GPUs that a server splits its model over.
func gpus(d *runplan.Deployment) string { return strconv.Itoa(max(1, d.TensorParallel)) }

// cachesInTmp has a server keep its caches where it may write. USER is there because libraries look the name of their
// user up, and a random one has none.
func cachesInTmp() map[string]string {
	return map[string]string{"HOME": "/tmp", "USER": "bflow", "HF_HOME": "/tmp/huggingface"}
}

// written is the program of a command line that a file gives. What it may leave open is put in.
func written(d *runplan.Deployment, at Listener) (Program, error) {
	replace := strings.NewReplacer("$(port)", strconv.Itoa(at.Port), "$(model)", d.Model.Name,
		"$(model_path)", d.ModelPath())
	put := func(list ...string) []string {
		out := make([]string, len(list))
		for i, text := range list {
			out[i] = replace.Replace(text)
		}
		return out
	}
	return Program{Command: put(d.Engine.Command...), Args: put(slices.Concat(d.Args, d.Engine.Args)...),
		Env: cachesInTmp()}, nil
}

// orWritten is a Program that gives way to the command line of a file.
func orWritten(
	own func(d *runplan.Deployment, at Listener) (Program, error),
) func(d *runplan.Deployment, at Listener) (Program, error) {
	return func(d *runplan.Deployment, at Listener) (Program, error) {
		if len(d.Engine.Command) > 0 {
			return written(d, at)
		}
		p, err := own(d, at)
		if err != nil {
			err = fmt.Errorf("starting engine %s: %w", d.Engine.Kind, err)
		}
		return p, err
	}
}
