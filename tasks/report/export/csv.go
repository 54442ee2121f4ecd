package export

import (
	"io"

	"bflow.dev/bflow/tasks/report/summary"
)

func summaryCSV(w io.Writer, run Run) error { return summary.Write(w, run.Report) }
