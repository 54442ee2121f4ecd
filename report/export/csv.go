package export

import (
	"io"

	"bflow.dev/bflow/report/summary"
)

func summaryCSV(w io.Writer, run Run) error { return summary.Write(w, run.Report) }
