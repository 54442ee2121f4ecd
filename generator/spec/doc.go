// Package spec reads experiment files: kinds, strict loading, defaults, validation, the profile catalogue.
// It opens files and nothing else: no network, no process, no clock; the matrix and resolved plans are package plan's.
package spec
