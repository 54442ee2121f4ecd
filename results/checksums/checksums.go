// Package checksums records the contents of a run's files at its end: sizes and SHA-256 in checksums.json of the run
// directory. Code that resumes, reports, pushes or fetches a run verifies the files against it. A measurement has a
// list of its own as soon as it ends. The same listing and hashing serve the transfer of files.
//
// The list covers the inputs and outputs of a report. It excludes what may change after the run has ended: events,
// logs, the folder of the local executor, and what was sent to a tracking server. The package must not know what the
// files mean.
package checksums

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// Schema names the format of checksums.json.
const Schema = "bflow.checksums/1"

// Manifest is checksums.json.
type Manifest struct {
	Schema string `json:"schema"`
	Files  []File `json:"files"` // in the order of their paths
}

// File is a file of a run.
type File struct {
	Path   string `json:"path"` // relative to the run directory, with slashes
	Size   int64  `json:"size"` // bytes
	SHA256 string `json:"sha256,omitempty"`
}

// List returns the regular files of a folder without their sums, in the order of their paths. Left out are those whose
// name begins with a dot, which are half written, and folders that cannot be read, such as lost+found of a fresh
// volume.
func List(root fs.FS) ([]File, error) {
	files := []File{}
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path != "." && (errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist)):
			return nil // fs.WalkDir does not go into a folder it could not read
		case err != nil:
			return err
		case path != "." && strings.HasPrefix(d.Name(), "."):
			return skip(d)
		case !d.Type().IsRegular():
			return nil
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // renamed since
		}
		if err != nil {
			return err
		}
		files = append(files, File{Path: path, Size: info.Size()})
		return nil
	})
	return files, err
}

func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// while is a reader that ends with the error of ctx once that is done.
type while struct {
	ctx context.Context
	io.Reader
}

func (r while) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// Sum returns the SHA-256, in hex, and the number of the bytes of r.
func Sum(r io.Reader) (sum string, size int64, err error) {
	h := sha256.New()
	size, err = io.Copy(h, r)
	return hex.EncodeToString(h.Sum(nil)), size, err
}

// Writer is a writer that sums what passes it.
type Writer struct {
	to   io.Writer
	sum  hash.Hash
	size int64
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w, sum: sha256.New()} }

// Write writes p and sums what of it was written.
func (w *Writer) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	w.sum.Write(p[:n])
	w.size += int64(n)
	return n, err
}

// File is what was written, as the file at path.
func (w *Writer) File(path string) File {
	return File{Path: path, Size: w.size, SHA256: hex.EncodeToString(w.sum.Sum(nil))}
}

// Write lists the files of a run that has ended. Whoever changes one of them afterwards calls Retract before and Write
// after. It ends with the error of ctx once that is done. known are files of which the caller knows the sums: it has
// just written them.
func Write(ctx context.Context, runDir string, known ...File) error {
	return write(ctx, runDir, runList(), covered, known...)
}

// WriteMeasurement lists the files of measurement n, once its load generator has come to its end: a run that is resumed
// keeps them, and may have no list of its own yet.
func WriteMeasurement(runDir string, n int) error {
	l := measurementList(n)
	return write(context.Background(), runDir, l, func(path string) bool { return path != l.path && measures(n, path) })
}

// list is a list of files, and since when they have to be what it says.
type list struct{ path, since string }

func runList() list { return list{contract.FileChecksums, "the run ended"} }

func measurementList(n int) list {
	return list{fmt.Sprintf("%s/%d/%s", contract.DirMeasurement, n, contract.FileChecksums), "its measurement ended"}
}

func write(ctx context.Context, runDir string, l list, want func(path string) bool, known ...File) error {
	m, err := measure(ctx, runDir, want, known...)
	if err != nil {
		return fmt.Errorf("listing the files of %q: %w", runDir, err)
	}
	return durable.WriteJSON(filepath.Join(runDir, filepath.FromSlash(l.path)), m)
}

func measure(ctx context.Context, runDir string, want func(path string) bool, known ...File) (*Manifest, error) {
	root, err := os.OpenRoot(runDir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	files, err := List(root.FS())
	if err != nil {
		return nil, err
	}
	m := &Manifest{Schema: Schema, Files: slices.DeleteFunc(files, func(f File) bool { return !want(f.Path) })}
	for i, f := range m.Files {
		at := slices.IndexFunc(known, func(k File) bool { return k.Path == f.Path && k.Size == f.Size })
		if at >= 0 {
			m.Files[i] = known[at]
			continue
		}
		if m.Files[i], err = read(ctx, root, f.Path); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// measures says whether a file is of the last attempt of measurement n, and stays as it is once that has ended.
func measures(n int, path string) bool {
	name, below := strings.CutPrefix(path, fmt.Sprintf("%s/%d/", contract.DirMeasurement, n))
	return below && covered(path) && !Made(path) && !strings.HasPrefix(name, contract.AttemptPrefix)
}

// covered says whether a file stays as it is once the run has ended.
func covered(path string) bool {
	folder, _, below := strings.Cut(path, "/")
	switch {
	case filepath.Base(path) == report.FileProgress:
		return false
	case below:
		return path == contract.FileEndpoint || path == contract.FileLastScrape ||
			slices.Contains([]string{contract.DirMeasurement, contract.DirMetrics, contract.DirSource}, folder)
	}
	return slices.Contains([]string{contract.FilePlan, contract.FileSmoketest, contract.FileReport}, path) || Made(path)
}

// Made says whether a file is made from the report alone: it can be made again.
func Made(path string) bool {
	return slices.Contains(
		[]string{contract.FileReportHTML, contract.FileReportV02, contract.FileSummary, contract.FileVerdict}, path) ||
		strings.HasPrefix(path, contract.DirMeasurement+"/") &&
			strings.HasPrefix(filepath.Base(path), "benchmark_report_v0.2")
}

func read(ctx context.Context, root *os.Root, path string) (File, error) {
	info, err := root.Lstat(path) // before opening: a pipe would block, a link may lead anywhere
	if err != nil {
		return File{}, err
	}
	if !info.Mode().IsRegular() {
		return File{}, fmt.Errorf("%q is not a regular file: %w", path, fs.ErrNotExist)
	}
	f, err := root.Open(path)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	sum, size, err := Sum(while{ctx, f})
	return File{Path: path, Size: size, SHA256: sum}, err
}

// Retract removes the list of a run whose files are about to change: a crash meanwhile leaves none instead of a wrong
// one.
func Retract(runDir string) error {
	err := os.Remove(filepath.Join(runDir, contract.FileChecksums))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = durable.SyncFolder(runDir)
	}
	if err != nil {
		return fmt.Errorf("beginning to change the files of a run: %w", err)
	}
	return nil
}

// DamagedError is a file of a run that is not what it was when the run ended.
type DamagedError struct {
	Run, Path, Problem string
	Others             int // files that are damaged as well
}

func (e *DamagedError) Error() string {
	others := ""
	if e.Others > 0 {
		others = fmt.Sprintf(" (%d files are damaged in all)", e.Others+1)
	}
	return fmt.Sprintf("checking the files of run %q: %q %s%s; bring it back from a copy or measure again with bflow "+
		"rerun, or remove %s to use the files as they are",
		e.Run, e.Path, e.Problem, others, contract.FileChecksums)
}

// Verify holds the files of a run that want accepts, nil accepts all, against their list. A file that differs or is
// missing is a *DamagedError with the exit code of an invalid file. A run without a list has not ended, or was made
// without one: it passes.
func Verify(runDir string, want func(path string) bool) error { return verify(runDir, runList(), want) }

// VerifyKept is Verify for what is kept of a run that is resumed. Measurements, counted from 0, are held against the
// list of the run and against their own; damaged is what is wrong with each that is not as it was: it can be made
// again. An error is about any other file.
func VerifyKept(runDir string, measurements int) (damaged map[int]*DamagedError, err error) {
	damaged = map[int]*DamagedError{}
	for n := range measurements {
		of := func(path string) bool { return measures(n, path) }
		err := errors.Join(verify(runDir, runList(), of), verify(runDir, measurementList(n), of))
		if d := new(DamagedError); errors.As(err, &d) && d.Path != contract.FileChecksums {
			damaged[n] = d
		} else if err != nil {
			return nil, err
		}
	}
	return damaged, Verify(runDir, func(path string) bool {
		for n := range measurements {
			if measures(n, path) {
				return false
			}
		}
		return true
	})
}

func verify(runDir string, l list, want func(path string) bool) error {
	var m Manifest
	if err := step.ReadJSON(filepath.Join(runDir, filepath.FromSlash(l.path)), &m); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return damaged(runDir, &DamagedError{Path: l.path, Problem: fmt.Sprintf("cannot be read (%v)", err)})
	} else if m.Schema != Schema {
		return damaged(runDir, &DamagedError{
			Path: l.path, Problem: fmt.Sprintf("has schema %q and not %q", m.Schema, Schema),
		})
	}
	root, err := os.OpenRoot(runDir)
	if err != nil {
		return fmt.Errorf("checking the files of a run: %w", err)
	}
	defer root.Close()
	var first *DamagedError
	for _, f := range m.Files {
		if want != nil && !want(f.Path) {
			continue
		}
		switch problem := compare(root, f, l.since); {
		case problem == "":
		case first == nil:
			first = &DamagedError{Path: f.Path, Problem: problem}
		default:
			first.Others++
		}
	}
	if first != nil {
		return damaged(runDir, first)
	}
	return nil
}

func damaged(runDir string, e *DamagedError) error {
	e.Run = filepath.Base(runDir)
	return step.Exit(contract.ExitUsage, e)
}

// compare says what is wrong with a file, "" where nothing is.
func compare(root *os.Root, want File, since string) string {
	got, err := read(context.Background(), root, want.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "is missing"
	case err != nil:
		return fmt.Sprintf("cannot be read (%v)", err)
	case got.Size != want.Size:
		return fmt.Sprintf("has %d bytes and not the %d that it had when %s", got.Size, want.Size, since)
	case got.SHA256 != want.SHA256:
		return "does not hold what it held when " + since
	}
	return ""
}
