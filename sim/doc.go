// Package sim is the simulated engine: a server of LLM APIs with programmable timing and faults, which logs the exact
// time of everything it sends. It must not contain anything that only a test needs: it is also the demo engine and an
// image.
package sim
