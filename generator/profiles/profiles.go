// Package profiles holds the profiles that bflow ships, for deployment, benchmark and metrics, as plain YAML files.
// It contains no code that reads them.
package profiles

import "embed"

// FS is the shipped catalogue, one profile per file.
//
//go:embed benchmark deployment metrics
var FS embed.FS
