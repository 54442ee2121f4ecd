package export

import (
	"fmt"
	"io"
	"strings"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/verdict"
)

// annotations writes a GitHub workflow command per breached or undecided gate, per failed validity check and per
// reason that no gate stands for.
func annotations(w io.Writer, run Run) error {
	r := run.Report
	var lines []string
	for _, m := range r.Measurements {
		if m.Error != "" {
			lines = append(lines, command("error", m.Name, m.Error))
		}
	}
	for _, g := range r.Verdict.Gates {
		switch g.Verdict {
		case verdict.Fail:
			lines = append(lines, command("error", g.StageName, verdict.Name(g)+": "+breach(g)))
		case verdict.Inconclusive:
			lines = append(lines, command("warning", g.StageName,
				fmt.Sprintf("%s: %s cannot decide %s", verdict.Name(g), verdict.Measured(g), verdict.Limit(g))))
		}
	}
	for _, v := range r.Verdict.Validity {
		lines = append(lines, command(
			level(v), v.StageName, fmt.Sprintf("%s: %s is %.4g, limit %.4g", v.Reason, v.Name, v.Value, v.Limit)))
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

func level(v report.Validity) string {
	if v.Note {
		return "notice"
	}
	return "warning"
}

// command escapes as the runner reads it: in properties also the separators.
func command(kind, title, message string) string {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	return fmt.Sprintf("::%s title=%s::%s", kind, property.Replace(title), data.Replace(message))
}
