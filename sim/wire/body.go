package wire

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"
)

// ReadBody reads the body that the header announced into req.Body, reusing the space of buf.
func (req *Request) ReadBody(r *bufio.Reader, buf []byte) error {
	var err error
	switch {
	case req.chunked:
		req.Body, err = readChunks(r, buf[:0])
	case req.length > 0:
		if int64(cap(buf)) < req.length {
			buf = make([]byte, req.length)
		}
		req.Body = buf[:req.length]
		_, err = io.ReadFull(r, req.Body)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func readChunks(r *bufio.Reader, body []byte) ([]byte, error) {
	for {
		line, err := readLine(r)
		if err != nil {
			return nil, err
		}
		text, _, _ := strings.Cut(string(line), ";") // chunk extensions mean nothing to us
		size, err := strconv.ParseUint(strings.TrimRight(text, " \t"), 16, 32)
		if err != nil {
			return nil, refuse(400, "malformed chunk size")
		}
		if size == 0 {
			return body, skipTrailer(r)
		}
		if len(body)+int(size) > MaxBody {
			return nil, refuse(413, "body is over the limit of %d bytes", MaxBody)
		}
		at := len(body)
		body = append(body, make([]byte, size)...)
		if _, err := io.ReadFull(r, body[at:]); err != nil {
			return nil, err
		}
		if end, err := readLine(r); err != nil || len(end) > 0 {
			return nil, refuse(400, "malformed chunk")
		}
	}
}

func skipTrailer(r *bufio.Reader) error {
	for left := MaxHead; left > 0; {
		line, err := readLine(r)
		if err != nil || len(line) == 0 {
			return err
		}
		left -= len(line)
	}
	return refuse(431, "trailer is longer than %d bytes", MaxHead)
}
