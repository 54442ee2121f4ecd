package record

import (
	"errors"
	"path/filepath"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/parquet"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
)

// Files are what a measurement writes beside its stages: rows and values always, the rest where the plan asks for it.
type Files struct {
	Outputs
	Texts   *Texts // nil where no texts are kept
	parquet *parquet.Writer
}

// OpenFiles starts the files in dir. clean takes secrets out of texts.
func OpenFiles(dir string, keep runplan.Record, clean func(string) string) (f *Files, err error) {
	f = new(Files)
	f.Gaps, f.Slice = keep.Gaps, keep.Slice.D()
	if f.Rows, err = report.CreateRows(filepath.Join(dir, contract.FileRequests)); err != nil {
		return nil, err
	}
	if f.Values, err = report.CreateHistograms(filepath.Join(dir, contract.FileHistograms)); err != nil {
		return nil, err
	}
	if f.Slice > 0 {
		if f.Slices, err = report.CreateSlices(filepath.Join(dir, report.FileSlices)); err != nil {
			return nil, err
		}
	}
	if keep.Texts > 0 {
		if f.Texts, err = CreateTexts(filepath.Join(dir, FileTexts), keep.Texts, clean); err != nil {
			return nil, err
		}
	}
	if keep.Parquet {
		if f.parquet, err = parquet.Create(filepath.Join(dir, parquet.File)); err != nil {
			return nil, err
		}
		f.Also = f.parquet.Write
	}
	return f, nil
}

// Finish ends the files, each as far as it can be; h is the header of the rows.
func (f *Files) Finish(h report.Header) error {
	err := errors.Join(f.Rows.Finish(h), f.Values.Close(), f.Texts.Close())
	if f.Slices != nil {
		err = errors.Join(err, f.Slices.Close())
	}
	if f.parquet != nil {
		err = errors.Join(err, f.parquet.Close())
	}
	return err
}
