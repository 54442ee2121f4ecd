// Package smoketest says whether a server is fit to be measured: it asks for everything that the load will rely on,
// once, and writes what it found to smoketest.json. It must not measure.
package smoketest
