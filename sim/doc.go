// Package sim is the simulated engine: a server of the APIs of language models with programmable timing and faults that logs when
// it really sent what. It must not hold anything that only a test needs: it is also the demo engine and an image.
package sim
