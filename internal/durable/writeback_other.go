//go:build !linux

package durable

import "os"

// bringToDisk has the disk take all that was written to a file.
func bringToDisk(f *os.File, _, _ int64, _ bool) error { return f.Sync() }
