// Package results serves the files of a run directory over HTTP, so that they can leave the cluster through the API
// server's pod proxy: a manifest with sizes and checksums, and the files with byte ranges.
//
// It never follows a link out of the directory, and knows nothing of what the files mean. Without a token it only reads,
// and asks nobody who they are: whoever reaches the port of the pod may read, so the pod ends by itself when nobody asks
// any more. With one it can be told to end, and before a task begins it takes in the files that the task needs.
package results
