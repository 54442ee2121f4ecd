package report

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"slices"

	"bflow.dev/bflow/internal/durable"
)

// The file histograms.bin is the line histogramMagic, then one record per distribution:
//
//	uint32 LE  length of the head
//	uint32 LE  length of the body
//	uint32 LE  CRC-32 (IEEE) of head and body
//	head       JSON, see histogramHead
//	body       kind "exact": n float64 LE, in any order
//	           kind "log":   uvarint count of values <= 0, then per bucket in use: uvarint distance from the bucket
//	                         before (the first: from 0), uvarint count. Bucket b holds the positive float64 whose bits,
//	                         shifted right by 42, are b.
//
// Distributions of the same metric are merged by adding them up: DistributionKey says which stage and sample one is of.
const histogramMagic = "bflow.histograms/1\n"

// DistributionKey names one distribution of a measurement.
type DistributionKey struct {
	Sample int    `json:"sample"`
	Stage  int    `json:"stage"`
	Metric string `json:"metric"`
}

type histogramHead struct {
	DistributionKey
	Unit string  `json:"unit"`
	Kind string  `json:"kind"` // exact or log
	N    int64   `json:"n"`
	Sum  float64 `json:"sum"`
	Mean float64 `json:"mean"`
	M2   float64 `json:"m2"` // sum of squared differences from the mean
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
}

// HistogramWriter writes histograms.bin record by record, and reads back what it wrote.
type HistogramWriter struct {
	path string
	f    *os.File
	size int64
	at   map[DistributionKey]int64
	buf  []byte
}

// CreateHistograms starts the file at path.
func CreateHistograms(path string) (*HistogramWriter, error) {
	f, err := durable.CreateGrowing(path)
	if err != nil {
		return nil, fmt.Errorf("creating histograms: %w", err)
	}
	if _, err := f.WriteString(histogramMagic); err != nil {
		f.Close()
		return nil, fmt.Errorf("writing %q: %w", path, err)
	}
	return &HistogramWriter{path: path, f: f, size: int64(len(histogramMagic)), at: map[DistributionKey]int64{}}, nil
}

// Write adds d; one without values is left out.
func (w *HistogramWriter) Write(key DistributionKey, d *Distribution) error {
	if d.N() == 0 {
		return nil
	}
	n, err := w.record(key, d)
	if err != nil {
		return fmt.Errorf("writing %q: %w", w.path, err)
	}
	w.at[key] = w.size
	w.size += n
	return nil
}

// Read returns the distribution that was written for key; nil where there is none. It spares those who need one of many
// to hold them all.
func (w *HistogramWriter) Read(key DistributionKey) (*Distribution, error) {
	at, ok := w.at[key]
	if !ok {
		return nil, nil
	}
	_, d, err := readRecord(bufio.NewReader(io.NewSectionReader(w.f, at, w.size-at)))
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", w.path, err)
	}
	return d, nil
}

// Close ends the file.
func (w *HistogramWriter) Close() error {
	if err := w.f.Close(); err != nil {
		return fmt.Errorf("closing %q: %w", w.path, err)
	}
	return nil
}

// record writes a record piece by piece, because a body may be as large as all memory that load-gen should take, and
// returns its length. The checksum comes last, so that a record that a kill cut off never looks whole.
func (w *HistogramWriter) record(key DistributionKey, d *Distribution) (int64, error) {
	head := histogramHead{DistributionKey: key, Unit: d.unit, Kind: "exact", N: d.n, Sum: d.sum, Mean: d.mean, M2: d.m2,
		Min: d.min, Max: d.max}
	if d.hist != nil {
		head.Kind = "log"
	}
	text, err := json.Marshal(head)
	if err != nil {
		return 0, fmt.Errorf("encoding distribution %q: %w", key.Metric, err)
	}
	at, sum := w.size+fixedHead, uint32(0)
	put := func(b []byte) {
		if err == nil {
			_, err = w.f.WriteAt(b, at)
		}
		at += int64(len(b))
		sum = crc32.Update(sum, crc32.IEEETable, b)
	}
	put(text)
	if w.buf == nil {
		w.buf = make([]byte, 0, piece)
	}
	d.encode(w.buf, put)
	body := at - w.size - fixedHead - int64(len(text))
	var fixed [fixedHead]byte
	binary.LittleEndian.PutUint32(fixed[:], uint32(len(text)))
	binary.LittleEndian.PutUint32(fixed[4:], uint32(body))
	binary.LittleEndian.PutUint32(fixed[8:], sum)
	if err == nil {
		_, err = w.f.WriteAt(fixed[:], w.size)
	}
	return at - w.size, err
}

// fixedHead is the length of lengths and checksum.
const fixedHead = 12

// piece is how much of a body is encoded at a time.
const piece = 64 << 10

// encode calls put with the body, piece by piece; buf is scratch.
func (d *Distribution) encode(buf []byte, put func([]byte)) {
	if d.hist != nil {
		put(d.hist.append(buf))
		return
	}
	buf = slices.Grow(buf, piece)
	for _, x := range d.exact {
		buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(x))
		if len(buf) == piece {
			put(buf)
			buf = buf[:0]
		}
	}
	if len(buf) > 0 {
		put(buf)
	}
}

func (h *Histogram) append(b []byte) []byte {
	b = binary.AppendUvarint(b, h.zero)
	last := 0
	for i, c := range h.counts {
		if c > 0 {
			b = binary.AppendUvarint(b, uint64(h.base+i-last))
			b = binary.AppendUvarint(b, c)
			last = h.base + i
		}
	}
	return b
}

// ReadHistograms returns the distributions of the file at path, all in memory. A file that ends in the middle of a
// record is an error, with the whole records before it returned as well.
func ReadHistograms(path string) (map[DistributionKey]*Distribution, error) {
	r, err := OpenHistograms(path)
	out := map[DistributionKey]*Distribution{}
	for _, key := range r.Keys() {
		d, damaged := r.Read(key)
		if damaged != nil {
			return out, damaged
		}
		out[key] = d
	}
	return out, err
}

// maxRecord bounds what a damaged length can make us allocate.
const maxRecord = 1 << 28

func readRecord(r io.Reader) (DistributionKey, *Distribution, error) {
	fixed, err := readFixed(r)
	if err != nil {
		return DistributionKey{}, nil, err
	}
	data := make([]byte, fixed.head+fixed.body)
	if _, err := io.ReadFull(r, data); err != nil {
		return DistributionKey{}, nil, io.ErrUnexpectedEOF
	}
	if crc32.ChecksumIEEE(data) != fixed.sum {
		return DistributionKey{}, nil, errors.New("checksum of a record is wrong: the file is damaged")
	}
	return decodeDistribution(data[:fixed.head], data[fixed.head:])
}

func decodeDistribution(text, body []byte) (DistributionKey, *Distribution, error) {
	var head histogramHead
	if err := json.Unmarshal(text, &head); err != nil {
		return DistributionKey{}, nil, fmt.Errorf("decoding the head of a record: %w", err)
	}
	d := NewDistribution(head.Unit)
	d.moments = moments{n: head.N, sum: head.Sum, mean: head.Mean, m2: head.M2, min: head.Min, max: head.Max}
	var err error
	switch head.Kind {
	case "exact":
		d.exact = make([]float64, 0, len(body)/8)
		for ; len(body) >= 8; body = body[8:] {
			d.exact = append(d.exact, math.Float64frombits(binary.LittleEndian.Uint64(body)))
		}
	case "log":
		d.hist, err = decodeHistogram(body)
	default:
		err = fmt.Errorf("record of unknown kind %q", head.Kind)
	}
	return head.DistributionKey, d, err
}

func decodeHistogram(body []byte) (*Histogram, error) {
	h, r := &Histogram{}, bytes.NewReader(body)
	var err error
	if h.zero, err = binary.ReadUvarint(r); err != nil {
		return nil, fmt.Errorf("decoding a histogram: %w", err)
	}
	bucket := uint64(0)
	for r.Len() > 0 {
		step, err1 := binary.ReadUvarint(r)
		count, err2 := binary.ReadUvarint(r)
		bucket += step
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("decoding a histogram: %w", err)
		}
		if bucket >= 1<<22 {
			return nil, fmt.Errorf("decoding a histogram: bucket %d is out of range", bucket)
		}
		h.addBucket(int(bucket), count)
	}
	return h, nil
}
