package report

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// HistogramReader reads single distributions of a histograms.bin: all of them may be more than memory. A nil one has
// none. It holds no file open.
type HistogramReader struct {
	path string
	keys []DistributionKey
	at   map[DistributionKey]int64
}

// OpenHistograms finds out what the file at path holds. A file that ends in the middle of a record is an error, with
// the whole records before it known as well.
func OpenHistograms(path string) (*HistogramReader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading histograms: %w", err)
	}
	defer f.Close()
	r := &HistogramReader{path: path, at: map[DistributionKey]int64{}}
	if err := r.index(f); err != nil {
		return r, fmt.Errorf("reading %q: %w", path, err)
	}
	return r, nil
}

func (r *HistogramReader) index(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := readMagic(f); err != nil {
		return err
	}
	for at := int64(len(histogramMagic)); at < info.Size(); {
		fixed, err := readFixed(io.NewSectionReader(f, at, info.Size()-at))
		if err != nil {
			return err
		}
		head := make([]byte, fixed.head)
		if at+fixed.size() > info.Size() {
			return io.ErrUnexpectedEOF
		}
		if _, err := f.ReadAt(head, at+fixedHead); err != nil {
			return err
		}
		var key DistributionKey
		if err := json.Unmarshal(head, &key); err != nil {
			return fmt.Errorf("decoding the head of a record: %w", err)
		}
		if _, twice := r.at[key]; !twice {
			r.keys = append(r.keys, key)
		}
		r.at[key] = at
		at += fixed.size()
	}
	return nil
}

// Keys returns what the file holds, in its order.
func (r *HistogramReader) Keys() []DistributionKey {
	if r == nil {
		return nil
	}
	return r.keys
}

// Read returns the distribution of key; nil where there is none.
func (r *HistogramReader) Read(key DistributionKey) (*Distribution, error) {
	if r == nil {
		return nil, nil
	}
	at, ok := r.at[key]
	if !ok {
		return nil, nil
	}
	f, err := os.Open(r.path)
	if err != nil {
		return nil, fmt.Errorf("reading histograms: %w", err)
	}
	defer f.Close()
	_, err = f.Seek(at, io.SeekStart)
	var d *Distribution
	if err == nil {
		_, d, err = readRecord(bufio.NewReader(f))
	}
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", r.path, err)
	}
	return d, nil
}

// recordHead is what a record begins with.
type recordHead struct{ head, body, sum uint32 }

func (h recordHead) size() int64 { return fixedHead + int64(h.head) + int64(h.body) }

func readFixed(r io.Reader) (recordHead, error) {
	var b [fixedHead]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return recordHead{}, err
	}
	h := recordHead{binary.LittleEndian.Uint32(b[:]), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])}
	if h.head > maxRecord || h.body > maxRecord {
		return h, fmt.Errorf("record of %d bytes: the file is damaged", uint64(h.head)+uint64(h.body))
	}
	return h, nil
}

func readMagic(r io.Reader) error {
	magic := make([]byte, len(histogramMagic))
	if _, err := io.ReadFull(r, magic); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		string(magic) != histogramMagic {
		return fmt.Errorf("not a histogram file of version %q", histogramMagic[:len(histogramMagic)-1])
	} else if err != nil {
		return err
	}
	return nil
}
