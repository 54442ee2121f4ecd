package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bflow.dev/bflow/tasks/results"
)

const (
	filesAtOnce  = 4
	piecesAtOnce = 4 // of one file; with 8 MiB each a transfer holds some 150 MiB at most
	tries        = 8 // with the pauses between them half a minute: an API server takes that long to come back
)

// transfer brings files from a pod into a folder.
type transfer struct {
	Options
	from  source
	dir   string
	total int64
	done  atomic.Int64
}

func (t *transfer) manifest(ctx context.Context) (m results.Manifest, err error) {
	err = t.again(ctx, func() error {
		body, err := t.from.read(ctx, results.PathManifest, map[string]string{"sums": "false"})
		if err != nil {
			return err
		}
		return json.Unmarshal(body, &m)
	})
	return m, err
}

// all brings the files that are wanted, a few at a time. One that fails does not stop the others.
func (t *transfer) all(ctx context.Context, m results.Manifest) error {
	files, total := t.choose(m)
	t.total = total
	failures := make([]error, len(files))
	var wait sync.WaitGroup
	free := make(chan struct{}, filesAtOnce)
	for i, f := range files {
		free <- struct{}{}
		wait.Go(func() {
			defer func() { <-free }()
			if err := t.file(ctx, f); err != nil {
				failures[i] = fmt.Errorf("fetching %q: %w", f.Path, err)
			}
		})
	}
	wait.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(failures...)
}

// file brings one file, unless it is here already. What came of it lies beside it under a name with its checksum, so
// that only a part of the same content is gone on with.
func (t *transfer) file(ctx context.Context, f results.File) error {
	if !filepath.IsLocal(filepath.FromSlash(f.Path)) {
		return errors.New("the path leads out of the folder")
	}
	path := filepath.Join(t.dir, filepath.FromSlash(f.Path))
	sum, err := t.sum(ctx, f)
	if err != nil {
		return err
	}
	if here, err := sumOf(path, f.Size); err == nil && here == sum {
		t.count(f.Size)
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	part := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+sum[:12]+".part")
	if err := t.complete(ctx, f, part, sum); err != nil {
		return err
	}
	return os.Rename(part, path)
}

func (t *transfer) sum(ctx context.Context, f results.File) (sum string, err error) {
	err = t.again(ctx, func() error {
		body, err := t.from.read(ctx, results.PathSums+f.Path, map[string]string{"size": strconv.FormatInt(f.Size, 10)})
		if err != nil {
			return err
		}
		if sum = strings.TrimSpace(string(body)); len(sum) != 2*sha256.Size {
			return fmt.Errorf("its checksum is %q", sum)
		}
		return nil
	})
	return sum, err
}

// complete appends to part what is missing, and checks the whole.
func (t *transfer) complete(ctx context.Context, f results.File, part, sum string) (err error) {
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
	if have > f.Size {
		return errors.Join(fmt.Errorf("%q holds more than the file: it was removed, fetch again", part), os.Remove(part))
	}
	t.count(have)
	if err := t.pieces(ctx, f, have, io.MultiWriter(out, h)); err != nil {
		return err
	}
	return check(h, sum, part)
}

func check(h hash.Hash, sum, part string) error {
	if got := hex.EncodeToString(h.Sum(nil)); got != sum {
		return errors.Join(fmt.Errorf("what came has checksum %s and not %s: fetch again", got, sum), os.Remove(part))
	}
	return nil
}

// pieces asks for several pieces at once and writes them in their order, so that what has come is always a beginning.
func (t *transfer) pieces(ctx context.Context, f results.File, from int64, to io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		data []byte
		err  error
	}
	asked := make(chan chan answer, piecesAtOnce-1)
	go func() {
		defer close(asked)
		for offset := from; offset < f.Size; offset += t.piece {
			reply := make(chan answer, 1)
			select {
			case asked <- reply:
			case <-ctx.Done():
				return
			}
			go func() {
				data, err := t.ask(ctx, f.Path, offset, min(t.piece, f.Size-offset))
				reply <- answer{data, err}
			}()
		}
	}()
	for reply := range asked {
		a := <-reply
		if a.err != nil {
			return a.err
		}
		if _, err := to.Write(a.data); err != nil {
			return err
		}
		t.count(int64(len(a.data)))
	}
	return ctx.Err()
}

func (t *transfer) ask(ctx context.Context, path string, offset, length int64) (data []byte, err error) {
	err = t.again(ctx, func() error {
		body, err := t.from.open(ctx, results.PathFiles+path, nil, offset, length)
		if err != nil {
			return err
		}
		defer body.Close()
		data = make([]byte, length)
		if _, err := io.ReadFull(body, data); err != nil {
			return fmt.Errorf("reading %d bytes at %d: %w", length, offset, err)
		}
		return nil
	})
	return data, err
}

// again repeats what failed for a reason that may pass: a restart of the API server, a cut connection.
func (t *transfer) again(ctx context.Context, do func() error) error {
	for attempt := 0; ; attempt++ {
		err := do()
		if err == nil || ctx.Err() != nil || attempt == tries-1 || lasting(err) {
			return err
		}
		select {
		case <-time.After(t.pause(attempt)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (t *transfer) count(n int64) { t.Progress(t.done.Add(n), t.total) }

// sumOf is the checksum of a file here that has the given size.
func sumOf(path string, size int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != size {
		return "", fmt.Errorf("%q has another size", path)
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
