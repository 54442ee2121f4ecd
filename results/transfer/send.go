package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"bflow.dev/bflow/results"
)

// Send brings the files of dir with the given paths to a server that takes files in. It may be called again after an
// error: what is there is not sent again. A file is seen there once it is whole.
func Send(ctx context.Context, to Server, dir string, paths []string, o Options) error {
	s := &sending{Options: o.withDefaults(), to: to}
	for _, path := range paths {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(path)))
		if err != nil {
			return fmt.Errorf("sending %q: %w", path, err)
		}
		s.total += info.Size()
	}
	for _, path := range paths {
		if err := s.file(ctx, dir, path); err != nil {
			return fmt.Errorf("sending %q: %w", path, err)
		}
	}
	return nil
}

// sending is one transfer to a server.
type sending struct {
	Options
	to          Server
	done, total int64
}

func (s *sending) file(ctx context.Context, dir, path string) error {
	file, err := os.Open(filepath.Join(dir, filepath.FromSlash(path)))
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	sum, err := sumOf(file.Name(), info.Size())
	if err != nil {
		return err
	}
	query := url.Values{"size": {strconv.FormatInt(info.Size(), 10)}, "sha256": {sum}}
	state, err := s.exchange(ctx, request{method: http.MethodGet, path: results.PathUploads + path, query: query})
	for err == nil && !state.Whole {
		if state.Have < 0 || state.Have > info.Size() {
			return fmt.Errorf("the server says that it has %d of %d bytes", state.Have, info.Size())
		}
		state, err = s.piece(ctx, file, path, query, state.Have, info.Size())
	}
	s.done += info.Size()
	s.Progress(s.done, s.total)
	return err
}

// piece sends what follows the first have bytes. A server that has more or less of the file than we believe says so,
// and that is no error: the answer to an earlier piece was lost.
func (s *sending) piece(
	ctx context.Context, file *os.File, path string, query url.Values, have, size int64,
) (results.Upload, error) {
	length := min(s.Piece, size-have)
	with := url.Values{"size": query["size"], "sha256": query["sha256"], "offset": {strconv.FormatInt(have, 10)}}
	var state results.Upload
	err := s.Again(ctx, func() (err error) {
		q := request{
			method: http.MethodPut, path: results.PathUploads + path, query: with,
			body: io.NewSectionReader(file, have, length), length: length,
		}
		state, err = s.once(ctx, q)
		if status := new(StatusError); errors.As(err, &status) && status.Code == http.StatusConflict {
			state, err = s.once(ctx, request{method: http.MethodGet, path: q.path, query: query})
		}
		return err
	})
	return state, err
}

func (s *sending) exchange(ctx context.Context, q request) (state results.Upload, err error) {
	err = s.Again(ctx, func() (err error) {
		state, err = s.once(ctx, q)
		return err
	})
	return state, err
}

func (s *sending) once(ctx context.Context, q request) (state results.Upload, err error) {
	body, err := within(ctx, pieceTimeout, func(ctx context.Context) ([]byte, error) { return s.to.read(ctx, q) })
	if err != nil {
		return state, err
	}
	if err := json.Unmarshal(body, &state); err != nil {
		return state, fmt.Errorf("reading how much has come: %w", err)
	}
	return state, nil
}
