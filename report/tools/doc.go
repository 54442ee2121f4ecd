// Package tools holds what the formats of tools have in common: the interface to write a run in a tool's format, the
// interface to read a tool's files, and the numbers of a request in the units of such files. The format of a load tool
// is in its package below load/tool. This one opens no connection and imports nothing heavy, so that load-gen may use
// it.
package tools
