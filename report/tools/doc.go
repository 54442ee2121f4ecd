// Package tools is what the result files of other load tools share, one package per tool below it: the seam through
// which a run is written in a tool's format, the seam through which a tool's files are read, and the numbers of a
// request in the units of such files. It opens no connection and imports nothing heavy, so that load-gen may use it.
package tools
