// Package canary plants a different word in every place a secret can enter bflow, does everything that can be done on one
// host, and searches every byte that came out: of files, standard output, logs, command lines, environments, and requests
// to servers that are not entitled. find.go is the searcher, and knows nothing of bflow.
package canary
