// Package tooltest has an imaginary load tool, for tests of what the package of a tool has to provide. It is the
// example of docs/extend.md.
package tooltest

import (
	"bytes"
	"context"
	"time"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/argv"
	"bflow.dev/bflow/load/tool/tree"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/runplan"
)

// Stampede is a load tool: it sends requests at a rate for some seconds.
type Stampede struct{}

// Definition names the tool, the key of its block in a profile, and its program on a command line.
func (Stampede) Definition() tool.Definition {
	return tool.Definition{
		Name: "stampede", Key: "stampede", Doc: "flags of stampede",
		Program: "stampede", Usage: "stampede ...", ServerHint: "set --url",
	}
}

// Translate turns the block into a measurement.
func (Stampede) Translate(d *tool.Draft) {
	d.API = runplan.API{Stream: true, VerifyTLS: true, Timeout: runplan.Duration(time.Minute)}
	d.SetAPI(runplan.APIChat, "")
	f := d.Block.Fields()
	d.Data = runplan.Data{Turns: 1, FreshPerStage: true}
	d.Data.Input = tool.FixedLength(f.CountOr(100, "tokens"))
	d.AddStage(d.Block, runplan.Stage{
		Measure: true, Shape: runplan.ShapeOpen, Arrival: "constant",
		Rate: f.Must("rate").Positive(), Duration: f.Must("seconds").PositiveSeconds(),
	})
	f.ToolOnly("chaos") // load-gen cannot do this
	f.Close()           // reports the keys that nobody asked for
}

// Parse reads the command line of the tool: every flag is a key of the block, but for those that name the server.
func (Stampede) Parse(c *tool.CommandLine, args []string) {
	c.Block = tree.Mapping()
	for _, f := range c.ReadTable(args, tool.Arities("url model rate seconds tokens chaos")) {
		switch value := f.Values[0]; f.Name {
		case "url":
			c.SetEndpoint(f.Word, value)
		case "model":
			c.Request.Model = value
		default:
			c.PutText(f.Word, value, f.Name)
		}
	}
}

// External says that the tool can make the load itself.
func (Stampede) External() tool.External { return herd{} }

// herd is the tool as a process.
type herd struct{}

func (herd) Program() tool.Program {
	return tool.Program{
		Name: "stampede", Requirement: "stampede==1.0", Distribution: "stampede", Results: []string{"stampede.json"},
	}
}

func (herd) Override(d *tool.Draft, block map[string]any) {
	tool.SetOverride(block, "seconds", d.Over.MaxSeconds)
	tool.SetOverride(block, "rate", d.Over.Rates)
}

func (herd) Command(i tool.Invocation, block map[string]any) (tool.Command, error) {
	line := []string{i.Program, "--url", i.Endpoint, "--model", i.Model, "--out", i.Dir + "/stampede.json"}
	return tool.Command{Argv: append(line, argv.Flags(block)...)}, nil
}

// Results are files with {"sent": N, "failed": N}.
func (Stampede) Results() tool.Results {
	looks := func(doc tools.Document) bool { return bytes.Contains(doc.Data, []byte(`"sent"`)) }
	return tool.Results{Looks: looks, Read: read}
}

func read(_ context.Context, docs []tools.Document) (*tools.Imported, error) {
	var result struct{ Sent, Failed int }
	if err := tools.Decode(docs[0], &result); err != nil {
		return nil, err
	}
	counts := report.Counts{Total: result.Sent, All: result.Sent, ByStatus: map[string]int{
		report.StatusOK: result.Sent - result.Failed, report.StatusFailed: result.Failed,
	}}
	return &tools.Imported{Tool: "stampede", Stages: []tools.ImportedStage{{Ended: "duration", Counts: counts}}}, nil
}
