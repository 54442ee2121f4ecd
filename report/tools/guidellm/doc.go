// Package guidellm writes and reads the reports of GuideLLM: it writes schema 2 (0.8.1) and that of 0.3.1, and reads
// every generation, told apart by shape. Formulas and names are those of the tool; where it differs from ours the
// comment says so.
package guidellm
