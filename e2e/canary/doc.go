// Package canary plants a distinct secret in every place where bflow accepts one, runs every command that works on
// one machine, and searches all output for the secrets: files, standard output, logs, command lines, environments,
// and requests to servers that must not get them. find.go is the search, which knows nothing of bflow.
package canary
