// Package ci tests the CI examples next to it: they must match the Pipeline and the command line that they use. It
// holds no code apart from those examples.
package ci
