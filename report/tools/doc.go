// Package tools holds what the packages of the load tools below it share: the interface to write a run in a tool's
// format, the interface to read a tool's files, and the numbers of a request in the units of such files. It opens no
// connection and imports nothing heavy, so that load-gen may use it.
package tools
