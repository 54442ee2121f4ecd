// Package profiles holds the catalogue that bflow ships: deployment, benchmark and metrics profiles as the files a
// person would write. It holds no code that reads them.
package profiles

import "embed"

// FS is the shipped catalogue, one profile per file.
//
//go:embed benchmark deployment metrics
var FS embed.FS
