// Package tool has the interface of load tools of others, and what reading their blocks and command lines has in
// common. A block is read by asking for its keys: a value that does not fit is reported at its position, and reading
// goes on. What a tool cannot have of load-gen is noted, so that the tool itself can make the load. The package is
// pure: it opens no file, and knows no catalogue, no matrix and no tool.
package tool
