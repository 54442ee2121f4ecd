package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/results"
	"bflow.dev/bflow/results/checksums"
)

const (
	filesAtOnce  = 4
	piecesAtOnce = 4               // of one file; with 8 MiB each a transfer holds some 150 MiB at most
	usualPiece   = 8 << 20         // bytes of one request
	pieceTimeout = 2 * time.Minute // one piece over a slow line; a connection that says nothing is given up then
	// with the pauses between them half a minute: an API server takes that long to come back
	usualTries     = 8
	requestTimeout = 10 * time.Minute // a checksum of a large file on a slow disk
)

// Options are how files travel. The zero value is ready to use.
type Options struct {
	Only     func(path string) bool  // files to bring; nil = all
	Progress func(done, total int64) // bytes of the files to bring, told after every piece; may be called side by side
	Piece    int64                   // bytes of one request; 0 = 8 MiB
	AtOnce   int                     // pieces of one file on their way; 0 = 4. AtOnce² pieces are in memory at most
	Again    Again                   // what happens after a failure; nil = 8 tries
}

func (o Options) withDefaults() Options {
	if o.Only == nil {
		o.Only = func(string) bool { return true }
	}
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
	if o.Piece == 0 {
		o.Piece = usualPiece
	}
	if o.AtOnce == 0 {
		o.AtOnce = piecesAtOnce
	}
	if o.Again == nil {
		o.Again = Tries(usualTries, Doubling)
	}
	return o
}

// fetch is one transfer to this host.
type fetch struct {
	Options
	from  Server
	dir   string
	total int64
	done  atomic.Int64
}

// Fetch brings the files that are wanted to dir. It may be called again after an error: what has come stays, and is not
// asked for again. A file that is there with the same content is left as it is; half a file never has the name of the
// whole.
func Fetch(ctx context.Context, from Server, dir string, o Options) error {
	f := &fetch{Options: o.withDefaults(), from: from, dir: dir}
	var m results.Manifest
	err := f.Again(ctx, func() (err error) {
		m, err = within(ctx, requestTimeout, from.Manifest)
		return err
	})
	if err != nil {
		return fmt.Errorf("asking for the list of files: %w", err)
	}
	return f.all(ctx, m)
}

// within bounds one question.
func within[T any](ctx context.Context, limit time.Duration, ask func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return ask(ctx)
}

// all brings the files that are wanted, a few at a time. One that fails does not stop the others, unless there is no
// room.
func (f *fetch) all(parent context.Context, m results.Manifest) error {
	ctx, stop := context.WithCancelCause(parent)
	defer stop(nil)
	files := f.choose(m)
	failures := make([]error, len(files))
	var wait sync.WaitGroup
	free := make(chan struct{}, min(filesAtOnce, f.AtOnce))
	for i, file := range files {
		free <- struct{}{}
		wait.Go(func() {
			defer func() { <-free }()
			if err := f.file(ctx, file); err != nil {
				failures[i] = fmt.Errorf("fetching %q: %w", file.Path, err)
				if NoRoom(err) {
					stop(err)
				}
			}
		})
	}
	wait.Wait()
	if parent.Err() != nil {
		return parent.Err()
	}
	for _, err := range failures {
		if NoRoom(err) {
			return err
		}
	}
	return errors.Join(failures...)
}

// NoRoom reports whether err is a disk that is full.
func NoRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// choose returns the files that are wanted, and notes how large they are together.
func (f *fetch) choose(m results.Manifest) (files []checksums.File) {
	for _, file := range m.Files {
		if f.Only(file.Path) {
			files = append(files, file)
			f.total += file.Size
		}
	}
	return files
}

// file brings one file, unless it is here already. What came of it lies beside it under a name with its checksum, so
// that only a part of the same content is gone on with.
func (f *fetch) file(ctx context.Context, file checksums.File) error {
	if !filepath.IsLocal(filepath.FromSlash(file.Path)) {
		return errors.New("the path leads out of the folder")
	}
	path := filepath.Join(f.dir, filepath.FromSlash(file.Path))
	sum, err := f.sum(ctx, file)
	if err != nil {
		return err
	}
	if here, err := sumOf(path, file.Size); err == nil && here == sum {
		f.count(file.Size)
		return nil
	}
	if err := durable.MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	part := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+sum[:12]+".part")
	err = f.complete(ctx, file, part, sum)
	// what did not fit is no use to anybody, nor what came beside it
	if NoRoom(err) || err != nil && NoRoom(context.Cause(ctx)) {
		return errors.Join(err, os.Remove(part))
	}
	if err != nil {
		return err
	}
	return durable.Rename(part, path)
}

func (f *fetch) sum(ctx context.Context, file checksums.File) (sum string, err error) {
	q := request{
		method: http.MethodGet, path: results.PathSums + file.Path,
		query: url.Values{"size": {strconv.FormatInt(file.Size, 10)}},
	}
	err = f.Again(ctx, func() error {
		body, err := within(ctx, requestTimeout, func(ctx context.Context) ([]byte, error) { return f.from.read(ctx, q) })
		if err != nil {
			return err
		}
		sum = strings.TrimSpace(string(body))
		if raw, err := hex.DecodeString(sum); err != nil || len(raw) != sha256.Size {
			return fmt.Errorf("its checksum is %q", sum)
		}
		return nil
	})
	return sum, err
}

// complete appends to part what is missing, and checks the whole.
func (f *fetch) complete(ctx context.Context, file checksums.File, part, sum string) (err error) {
	out, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	h := sha256.New()
	have, err := io.Copy(h, out)
	if err != nil {
		return err
	}
	if have > file.Size {
		return errors.Join(fmt.Errorf("%q holds more than the file: it was removed, fetch again", part), os.Remove(part))
	}
	f.count(have)
	if err := f.pieces(ctx, file, have, io.MultiWriter(out, h)); err != nil {
		return err
	}
	if err := check(h, sum, part); err != nil {
		return err
	}
	return out.Sync() // before the file gets its name
}

func check(h hash.Hash, sum, part string) error {
	if got := hex.EncodeToString(h.Sum(nil)); got != sum {
		return errors.Join(fmt.Errorf("the copy has checksum %s, not %s; fetch again", got, sum), os.Remove(part))
	}
	return nil
}

// pieces asks for several pieces at once and writes them in their order, so that what has come is always a beginning.
func (f *fetch) pieces(ctx context.Context, file checksums.File, from int64, to io.Writer) error {
	var asking sync.WaitGroup
	defer asking.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		data []byte
		err  error
	}
	asked := make(chan chan answer, f.AtOnce-1)
	asking.Go(func() {
		defer close(asked)
		for offset := from; offset < file.Size; offset += f.Piece {
			reply := make(chan answer, 1)
			select {
			case asked <- reply:
			case <-ctx.Done():
				return
			}
			asking.Go(func() {
				data, err := f.ask(ctx, file.Path, offset, min(f.Piece, file.Size-offset))
				reply <- answer{data, err}
			})
		}
	})
	for reply := range asked {
		a := <-reply
		if a.err != nil {
			return a.err
		}
		if _, err := to.Write(a.data); err != nil {
			return err
		}
		f.count(int64(len(a.data)))
	}
	return ctx.Err()
}

func (f *fetch) ask(ctx context.Context, path string, offset, length int64) (data []byte, err error) {
	q := request{
		method: http.MethodGet, path: results.PathFiles + path, rang: fmt.Sprintf("bytes=%d-%d",
			offset, offset+length-1),
	}
	err = f.Again(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, pieceTimeout)
		defer cancel()
		resp, err := f.from.do(ctx, q)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		data = make([]byte, length)
		if _, err := io.ReadFull(resp.Body, data); err != nil {
			return fmt.Errorf("reading %d bytes at %d: %w", length, offset, err)
		}
		return nil
	})
	return data, err
}

func (f *fetch) count(n int64) { f.Progress(f.done.Add(n), f.total) }

// sumOf is the checksum of a file here that has the given size.
func sumOf(path string, size int64) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || info.Size() != size {
		return "", fmt.Errorf("%q has another size", path)
	}
	sum, _, err := checksums.Sum(file)
	return sum, err
}
