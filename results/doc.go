// Package results serves the files of a run directory over HTTP, so that they can leave the cluster through the API
// server's pod proxy: a manifest with sizes and checksums, and the files with byte ranges.
//
// It never follows a link out of the directory, and knows nothing of what the files mean. Every request must send the
// server's token, which is created for one transfer; all other clients of the pod's port are rejected. The server
// ends on request, or after some time without requests. Where configured, it first receives the input files of a
// task.
package results
