// Package same tests that what compile prints is what a local run executes: the same objects, and, for a fixed seed,
// the same requests.
package same
