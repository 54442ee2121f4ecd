// Package same tests that a local run executes exactly what bflow compile prints: the same objects and, for a fixed
// seed, the same requests.
package same
