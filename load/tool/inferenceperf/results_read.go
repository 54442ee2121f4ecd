package inferenceperf

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/runplan"
)

// fileConfig says which server and how its tokens were counted.
const fileConfig = "config.yaml"

// Looks says whether a document is a file of the tool.
func Looks(doc tools.Document) bool {
	return tools.HasMembers(doc, "load_summary", "successes") || looksPerRequest(doc)
}

func looksPerRequest(doc tools.Document) bool {
	for first, err := range doc.Each(context.Background(), "") {
		return err == nil && tools.HasMembers(tools.Document{Data: first}, "start_time", "info")
	}
	return false
}

// Read reads folders, or some files of them, as stages of one load: of each its stages where there are any, else its
// summary as one stage; requests and configuration where they are given.
func Read(ctx context.Context, docs []tools.Document) (*tools.Imported, error) {
	folders := sortOut(docs)
	if len(folders) == 0 {
		return nil, fmt.Errorf("reading %q: neither %s nor a stage_<N>_lifecycle_metrics.json is given",
			docs[0].Path, fileSummary)
	}
	in := &tools.Imported{Tool: Name, TokenCountSource: "tokenizer", Notes: []string{
		"inference-perf: ttfc is to the first content, reasoning unseen; its gaps are perceived ones; " +
			"rates are over the whole run, drain included"}}
	if len(folders) > 1 {
		in.Note("the results are of %d runs of the tool: their stages follow each other as the files are named", len(folders))
	}
	rows := 0
	for _, f := range folders {
		n, err := f.read(ctx, in, rows)
		if err != nil {
			return nil, err
		}
		rows += n
	}
	return in, nil
}

// read adds the stages of a folder to in, and the requests behind rows others. It returns their number.
func (f *folderFiles) read(ctx context.Context, in *tools.Imported, rows int) (int, error) {
	conf, err := readConfig(in, f.config)
	if err != nil {
		return 0, err
	}
	documents := []tools.Document{}
	for _, n := range slices.Sorted(maps.Keys(f.stages)) {
		documents = append(documents, f.stages[n])
	}
	if len(documents) == 0 {
		documents = append(documents, *f.summary)
		in.Note("there is only the summary: all stages of the run are one")
	}
	from := len(in.Stages)
	for i, doc := range documents {
		s, err := readStageFile(in, doc, conf, from+i, i == 0)
		if err != nil {
			return 0, err
		}
		in.Stages = append(in.Stages, s)
	}
	if f.requests == nil {
		return 0, nil
	}
	return readRows(ctx, in, in.Stages[from:], f.requests, rows)
}

// configuration is what is read of config.yaml.
type configuration struct {
	API struct {
		Type      string `yaml:"type"`
		Streaming bool   `yaml:"streaming"`
	} `yaml:"api"`
	Server struct {
		Model string `yaml:"model_name"`
		URL   string `yaml:"base_url"`
	} `yaml:"server"`
	Load struct {
		Type string `yaml:"type"`
	} `yaml:"load"`
	Report struct {
		Lifecycle struct {
			ServerTokens bool `yaml:"use_server_output_tokens"`
		} `yaml:"request_lifecycle"`
	} `yaml:"report"`
}

func readConfig(in *tools.Imported, doc *tools.Document) (configuration, error) {
	var c configuration
	if doc == nil {
		return c, nil
	}
	if err := yaml.Unmarshal(doc.Data, &c); err != nil {
		return c, fmt.Errorf("reading %q: %w", doc.Path, err)
	}
	if in.Model != "" && c.Server.Model != "" && in.Model != c.Server.Model {
		return c, fmt.Errorf("reading %q: it is of model %q, and results before it of %q; import them one by one",
			doc.Path, c.Server.Model, in.Model)
	}
	in.Model, in.Endpoint = cmp.Or(c.Server.Model, in.Model), cmp.Or(c.Server.URL, in.Endpoint)
	in.API = runplan.API{Type: runplan.APICompletions, Stream: c.API.Streaming}
	switch c.API.Type {
	case "chat":
		in.API.Type = runplan.APIChat
	case "anthropic_messages":
		in.API.Type = runplan.APIMessages
	}
	if c.Report.Lifecycle.ServerTokens {
		in.TokenCountSource = "usage"
	}
	return c, nil
}
