// Package smoketest checks that a server is fit to be measured: it tries every feature that the load relies on once,
// and writes its findings to smoketest.json. It must not measure.
package smoketest
