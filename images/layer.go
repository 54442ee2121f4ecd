package images

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
)

// compression is that of layers. The module that compresses is pinned in go.mod, so a newer Go changes no layer.
const compression = 6

// entry is one file or folder of a layer.
type entry struct {
	name string // without a leading slash; that of a folder ends in one
	mode int64
	data []byte
	from string // file on this host that holds the content instead of data
}

// layer is a layer that lies as a blob in a layout.
type layer struct {
	path           string
	digest, diffID v1.Hash
	size           int64
}

var _ v1.Layer = (*layer)(nil)

func (l *layer) Digest() (v1.Hash, error)             { return l.digest, nil }
func (l *layer) DiffID() (v1.Hash, error)             { return l.diffID, nil }
func (l *layer) Size() (int64, error)                 { return l.size, nil }
func (l *layer) MediaType() (types.MediaType, error)  { return types.OCILayer, nil }
func (l *layer) Compressed() (io.ReadCloser, error)   { return os.Open(l.path) }
func (l *layer) Uncompressed() (io.ReadCloser, error) { return gunzip(l.path) }

// gunzip opens a compressed file; closing what it returns closes the file.
func gunzip(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{z, f}, nil
}

// newLayer writes entries as a layer into the folder of blobs, named by its digest. Equal entries are equal layers:
// their order is that of the call, owner and times are zero.
func newLayer(blobs string, entries []entry) (_ *layer, err error) {
	tmp, err := os.CreateTemp(blobs, ".layer-*")
	if err != nil {
		return nil, fmt.Errorf("writing a layer: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing a layer: %w", errors.Join(err, os.Remove(tmp.Name())))
		}
	}()
	l := &layer{}
	if err := l.write(tmp, entries); err != nil {
		return nil, errors.Join(err, tmp.Close())
	}
	if err := errors.Join(tmp.Chmod(0o644), tmp.Close()); err != nil {
		return nil, err
	}
	l.path = filepath.Join(blobs, l.digest.Hex)
	return l, os.Rename(tmp.Name(), l.path)
}

func (l *layer) write(f *os.File, entries []entry) error {
	packed, plain := sha256.New(), sha256.New()
	z, err := gzip.NewWriterLevel(io.MultiWriter(f, packed), compression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(io.MultiWriter(z, plain))
	for _, e := range entries {
		if err := e.write(t); err != nil {
			return fmt.Errorf("adding %q: %w", e.name, err)
		}
	}
	if err := errors.Join(t.Close(), z.Close()); err != nil {
		return err
	}
	l.digest, l.diffID = hashOf(packed), hashOf(plain)
	l.size, err = f.Seek(0, io.SeekCurrent)
	return err
}

func hashOf(h hash.Hash) v1.Hash {
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(h.Sum(nil))}
}

func (e entry) write(t *tar.Writer) error {
	h := &tar.Header{
		Name: e.name, Mode: e.mode, Size: int64(len(e.data)), Typeflag: tar.TypeReg, ModTime: time.Unix(0, 0),
		Format: tar.FormatUSTAR,
	}
	if strings.HasSuffix(e.name, "/") {
		h.Typeflag = tar.TypeDir
	}
	var content io.Reader = bytes.NewReader(e.data)
	if e.from != "" {
		f, err := os.Open(e.from)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		content, h.Size = f, info.Size()
	}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.Copy(t, content)
	return err
}
