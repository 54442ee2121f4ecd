// Package results serves the files of a run directory over HTTP, so that they can leave the cluster through the API
// server's pod proxy: a manifest with sizes and checksums, and the files with byte ranges.
//
// It never follows a link out of the directory, and knows nothing of what the files mean. Every request needs the token of the
// server, which is made for one transfer: whoever else reaches the port of the pod is refused. The server ends when it is told to,
// or when nobody asks any more. Before a task begins it takes in the files that the task needs, where it is told so.
package results
