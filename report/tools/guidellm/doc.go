// Package guidellm writes and reads the reports of GuideLLM: it writes schema 2 (0.8.1) and that of 0.3.1, and reads
// every generation, which it recognises by structure. Formulas and names are those of the tool; comments mark where
// they differ from bflow's.
package guidellm
