package export

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/verdict"
)

type testSuites struct {
	XMLName xml.Name    `xml:"testsuites"`
	Name    string      `xml:"name,attr"`
	Suites  []testSuite `xml:"testsuite"`
}

type testSuite struct {
	Name       string     `xml:"name,attr"`
	Tests      int        `xml:"tests,attr"`
	Failures   int        `xml:"failures,attr"`
	Errors     int        `xml:"errors,attr"`
	Skipped    int        `xml:"skipped,attr"`
	Timestamp  string     `xml:"timestamp,attr,omitempty"`
	Time       string     `xml:"time,attr"`
	Properties []property `xml:"properties>property"`
	Cases      []testCase `xml:"testcase"`
}

type property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type testCase struct {
	ClassName string   `xml:"classname,attr"`
	Name      string   `xml:"name,attr"`
	Time      string   `xml:"time,attr"`
	Failure   *outcome `xml:"failure"`
	Error     *outcome `xml:"error"`
	Skipped   *outcome `xml:"skipped"`
}

type outcome struct {
	Type    string `xml:"type,attr,omitempty"`
	Message string `xml:"message,attr"`
}

// junit writes a test suite per measurement: a case per gate and one for the validity of each stage.
func junit(w io.Writer, run Run) error {
	r := run.Report
	out := testSuites{Name: r.Plan.Experiment}
	for i := range r.Measurements {
		out.Suites = append(out.Suites, suite(r, &r.Measurements[i]))
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(out); err != nil {
		return fmt.Errorf("writing JUnit: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func suite(r *report.Report, m *report.Measurement) testSuite {
	class := fmt.Sprintf("%s.%s", r.Run.ID, m.Name)
	s := testSuite{Name: class, Time: "0", Properties: properties(r, m)}
	if !r.Run.Start.IsZero() {
		s.Timestamp = r.Run.Start.UTC().Format("2006-01-02T15:04:05")
		s.Time = fmt.Sprintf("%.3f", r.Run.End.Sub(r.Run.Start).Seconds())
	}
	if m.Error != "" {
		s.add(testCase{
			ClassName: class, Name: "complete", Time: "0", Failure: &outcome{Type: "incomplete", Message: m.Error},
		})
	}
	for i := range m.Pooled.Stages {
		if stage := &m.Pooled.Stages[i]; stage.Planned.Measure {
			for _, c := range stageCases(class, stage) {
				s.add(c)
			}
		}
	}
	return s
}

func (s *testSuite) add(c testCase) {
	s.Cases = append(s.Cases, c)
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
}

func properties(r *report.Report, m *report.Measurement) []property {
	gpu, n := report.GPUs(r.Plan)
	out := []property{{"model", r.Plan.Deployment.Model.Name}, {"engine", r.Plan.Deployment.Engine.Kind},
		{"gpu", strings.TrimSpace(gpu)},
		{"gpus", fmt.Sprint(n)}, {"plan_hash", r.Plan.Hash}, {"token_count_source", m.TokenCountSource},
		{"verdict", r.Verdict.Verdict}}
	return out
}

func stageCases(class string, s *report.Stage) []testCase {
	length := fmt.Sprintf("%.3f", time.Duration(s.WindowS*1e9).Seconds())
	valid := testCase{ClassName: class, Name: s.Planned.Name + ": valid", Time: length}
	if verdict.Skipped(s) {
		valid.Skipped = &outcome{Message: "the stage did not run: a rule of an earlier one ended the load"}
		return []testCase{valid}
	}
	if !s.Valid {
		valid.Error = &outcome{Type: strings.Join(s.InvalidReasons, " "), Message: invalid(s)}
	}
	out := []testCase{valid}
	if s.Counts.ByStatus[report.StatusOK] == 0 {
		return append(out, testCase{ClassName: class, Name: s.Planned.Name + ": requests succeed", Time: length,
			Failure: &outcome{Type: "errors", Message: "no request succeeded"}})
	}
	for _, g := range s.Gates {
		out = append(out, gateCase(class, length, g))
	}
	return out
}

func invalid(s *report.Stage) string {
	var parts []string
	for _, c := range s.Checks {
		if !c.OK && !c.Note {
			parts = append(parts, fmt.Sprintf("%s: %.4g, limit %.4g", c.Name, c.Value, c.Limit))
		}
	}
	return strings.Join(parts, "; ")
}

func gateCase(class, length string, g report.Gate) testCase {
	c := testCase{ClassName: class, Name: fmt.Sprintf("%s: %s", g.StageName, verdict.Describe(g)), Time: length}
	switch g.Verdict {
	case verdict.Fail:
		kind := "slo"
		if g.Default {
			kind = "errors"
		}
		c.Failure = &outcome{Type: kind, Message: breach(g)}
	case verdict.Inconclusive:
		c.Skipped = &outcome{Message: fmt.Sprintf("%s cannot decide %s", verdict.Measured(g), verdict.Limit(g))}
	}
	return c
}

// breach is "612 ms > 500 ms (n=1200)".
func breach(g report.Gate) string {
	if g.Value == nil {
		return "not measured"
	}
	sign := ">"
	if g.AtLeast {
		sign = "<"
	}
	return fmt.Sprintf("%s %s %s (n=%d)", verdict.Quantity(*g.Value, g.Unit), sign, verdict.Quantity(g.Limit, g.Unit), g.N)
}
