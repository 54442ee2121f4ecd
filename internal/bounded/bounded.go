// Package bounded reads untrusted input up to a limit. It must not know who sends the input or what it means.
package bounded

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// TooLongError is an answer, or a file, that holds more than the reader takes.
type TooLongError struct{ Limit int64 } // bytes

func (e *TooLongError) Error() string {
	if e.Limit%(1<<20) == 0 {
		return fmt.Sprintf("it is longer than %d MiB", e.Limit>>20)
	}
	return fmt.Sprintf("it is longer than %d KiB", e.Limit>>10)
}

// Reader returns r as a reader of at most limit bytes, which fails with a *TooLongError where there are more.
func Reader(r io.Reader, limit int64) io.Reader { return &reader{r, limit, limit} }

type reader struct {
	from        io.Reader
	left, limit int64
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p[:min(int64(len(p)), r.left+1)])
	if r.left -= int64(n); r.left < 0 {
		r.left = 0
		return 0, &TooLongError{r.limit}
	}
	return n, err
}

// ReadAll reads r to its end. More than limit bytes are a *TooLongError, and none of them is returned.
func ReadAll(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(Reader(r, limit))
	if err != nil {
		return nil, err
	}
	return data, nil
}

// ReadFile reads a file that somebody names: of what is longer, or never ends, it returns a *TooLongError.
func ReadFile(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAll(f, limit)
}

// ReadLine is in.ReadString('\n') for lines of any length: of a longer one it returns the first limit bytes, and drops
// the rest.
func ReadLine(in *bufio.Reader, limit int) (string, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part[:min(len(part), limit-len(line))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return string(line), err
		}
	}
}
