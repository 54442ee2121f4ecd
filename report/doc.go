// Package report defines the result files of a run (rows, stages, histograms, report, verdict) and the arithmetic
// that derives one from another. It reads and writes files and nothing else: it opens no connection and knows no
// task.
package report
