package tool

import "bflow.dev/bflow/runplan"

// Invocation is what a tool is asked to do, and where.
type Invocation struct {
	Measurement *runplan.Measurement
	Model       string // served name
	Endpoint    string // base URL
	Program     string // of the tool, absolute
	Dir         string // folder for everything that the tool writes, absolute
	Key         string // API key of the server, "" = none; never part of Command.Argv
}

// Command is one run of a tool.
type Command struct {
	Argv  []string
	Env   []string // NAME=value, on top of what the process inherits
	Files []File   // written before it starts
	Fetch *Fetch   // a data set that it reads
	// WarmUp is load that nobody looks at: its results are not imported.
	WarmUp bool
}

// File lies in Invocation.Dir.
type File struct {
	Name   string
	Data   []byte
	Secret bool // readable by the owner alone, and removed when the tool has ended
}

// Fetch is a file to download into Invocation.Dir before the tool starts.
type Fetch struct {
	URL   string
	Name  string
	Lines int // that are kept, blank ones not counted; 0 = all
}
