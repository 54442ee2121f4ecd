package step

import (
	"bytes"
	"io"
	"os"
	"strings"
)

// longestLine is how much of a line is told, in bytes.
const longestLine = 400

// LastLine returns the last line of the file at path that is not blank, its first 400 bytes, or "": most programs end
// with their reason.
func LastLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	tail, _ := io.ReadAll(io.NewSectionReader(f, max(0, size-8<<10), 8<<10))
	tail = bytes.TrimSpace(tail)
	line := bytes.TrimSpace(tail[bytes.LastIndexByte(tail, '\n')+1:])
	return strings.ToValidUTF8(string(line[:min(len(line), longestLine)]), "")
}
