// Package results serves the files of a run directory over HTTP, so that they can leave the cluster through the API
// server's pod proxy: a manifest with sizes and checksums, and the files with byte ranges.
//
// It only reads, never follows a link out of the directory, and knows nothing of what the files mean. It asks nobody
// who they are: whoever reaches the port of the pod may read, so the pod ends by itself when nobody asks any more.
package results
