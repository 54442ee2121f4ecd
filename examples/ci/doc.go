// Package ci proves in its tests that the examples for CI systems beside it fit what they speak to: the Pipeline, the
// command line. It holds those examples, and no code.
package ci
