package verdict

import (
	"fmt"
	"slices"
	"strings"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
)

// Finding is one thing that speaks against a run.
type Finding struct {
	Code   int    // what it is, as an exit code: 1 failed, 3 unhealthy, 4 invalid, 5 breach, 6 inconclusive
	Exit   int    // what follows from it: Code, or 0 where the experiment only wants it reported
	Reason string // one sentence
}

// Stage returns the word for a measured, pooled stage whose gates are judged.
func Stage(s *report.Stage) string {
	codes := []int{contract.ExitPass}
	for _, f := range stageFindings(rules{}, s) {
		codes = append(codes, f.Code)
	}
	return Word(ExitCode(codes...))
}

// Skipped says whether a stage never ran, because a rule of an earlier one ended the load.
func Skipped(s *report.Stage) bool { return s.Ended == "skipped" }

// rules are the words of the experiment about consequences.
type rules struct{ breach, invalid bool }

// rulesOf are those of a measurement of p.
func rulesOf(p *runplan.RunPlan, measurement int) rules {
	r := rules{invalid: p.Execution.OnInvalid == runplan.InvalidFail || p.Execution.OnInvalid == runplan.InvalidRetry}
	if slo := p.Objectives(measurement); slo != nil {
		r.breach = slo.OnBreach == "fail" || slo.OnBreach == "stop"
	}
	return r
}

// exit is what follows from a code: the code, or 0 where the experiment only wants it reported.
func (r rules) exit(code int) int {
	switch code {
	case contract.ExitInvalid:
		if !r.invalid {
			return contract.ExitPass
		}
	case contract.ExitBreach, contract.ExitInconclusive:
		if !r.breach {
			return contract.ExitPass
		}
	}
	return code
}

// Found is a finding of a measurement of the plan, with what the experiment wants to follow from it.
func Found(p *runplan.RunPlan, measurement, code int, reason string) Finding {
	return Finding{Code: code, Exit: rulesOf(p, measurement).exit(code), Reason: reason}
}

// Run judges a run by the pooled stages of its measurements, whose gates are judged, and by findings from outside
// the measurements (an unhealthy server, a missing result).
func Run(p *runplan.RunPlan, measurements []report.Measurement, findings []Finding) report.Verdict {
	v := report.Verdict{
		Schema: report.VerdictSchema, Reasons: []string{}, Gates: []report.Gate{}, Validity: []report.Validity{},
	}
	for i := range measurements {
		stages := measurements[i].Pooled.Stages
		for j := range stages {
			v.Gates = append(v.Gates, stages[j].Gates...)
			if stages[j].Planned.Measure {
				findings = append(findings, stageFindings(rulesOf(p, measurements[i].Index), &stages[j])...)
			}
		}
		v.Validity = append(v.Validity, validity(&measurements[i])...)
	}
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return slices.Index(precedence(), a.Code) - slices.Index(precedence(), b.Code)
	})
	var codes, exits []int
	for _, f := range findings {
		v.Reasons = append(v.Reasons, f.Reason)
		codes, exits = append(codes, f.Code), append(exits, f.Exit)
	}
	v.Verdict, v.ExitCode = Word(ExitCode(codes...)), ExitCode(exits...)
	return v
}

// Imported is the verdict of a run that another tool has measured: nobody has said what would be good enough, and no
// check of ours was made while it ran. Findings are what could not be read.
func Imported(measurements []report.Measurement, findings []Finding) report.Verdict {
	v := report.Verdict{
		Schema: report.VerdictSchema, Verdict: NotJudged, Reasons: []string{}, Gates: []report.Gate{},
		Validity: []report.Validity{},
	}
	for i := range measurements {
		v.Validity = append(v.Validity, validity(&measurements[i])...)
	}
	for _, f := range findings {
		v.Reasons = append(v.Reasons, f.Reason)
	}
	return v
}

// NothingMeasured is why a run without load is not judged.
const NothingMeasured = "nothing was measured: stages.benchmark is false"

// Unmeasured is the verdict of a run that put no load on its server and found nothing wrong with it.
func Unmeasured() report.Verdict {
	return report.Verdict{Schema: report.VerdictSchema, Verdict: NotJudged, Reasons: []string{NothingMeasured},
		Gates: []report.Gate{}, Validity: []report.Validity{}}
}

func stageFindings(r rules, s *report.Stage) []Finding {
	if Skipped(s) || s.Explored {
		return nil
	}
	place := fmt.Sprintf("stage %q", s.Planned.Name)
	if s.Counts.ByStatus[report.StatusOK] == 0 {
		return []Finding{{
			contract.ExitFail, contract.ExitFail, fmt.Sprintf("%s: no request succeeded (%s)", place, tally(s.Counts)),
		}}
	}
	var out []Finding
	for _, g := range s.Gates {
		if f, bad := gateFinding(r, place, g); bad {
			f.Reason += unjudged(s, g)
			out = append(out, f)
		}
	}
	if !s.Valid {
		out = append(out, Finding{
			contract.ExitInvalid, r.exit(contract.ExitInvalid), fmt.Sprintf("%s: not valid: %s", place, invalidity(s)),
		})
	}
	return out
}

func gateFinding(r rules, place string, g report.Gate) (Finding, bool) {
	switch {
	case g.Verdict == Pass:
		return Finding{}, false
	case g.Default && g.Verdict == Fail:
		fate := "failed"
		if g.Metric == dropRate {
			fate = "were dropped"
		}
		return Finding{contract.ExitFail, contract.ExitFail,
			fmt.Sprintf("%s: %s of the requests %s, more than %s", place, Measured(g), fate, Quantity(g.Limit, g.Unit))}, true
	case g.Default:
		return Finding{}, false
	}
	f := Finding{
		Code: contract.ExitBreach, Reason: fmt.Sprintf("%s: %s is %s%s, objective %s",
			place, Name(g), Measured(g), origin(g), Limit(g)),
	}
	if g.Verdict == Inconclusive {
		f.Code, f.Reason = contract.ExitInconclusive,
			fmt.Sprintf("%s: %s is %s%s, which cannot decide the objective %s",
				place, Name(g), Measured(g), origin(g), Limit(g))
	}
	f.Exit = r.exit(f.Code)
	return f, true
}

// unjudged says of a goodput that cannot decide which objective no answer could be held to.
func unjudged(s *report.Stage, g report.Gate) string {
	if g.Metric != "goodput" || g.Verdict != Inconclusive || s.Goodput == nil || len(s.Goodput.Unjudged()) == 0 {
		return ""
	}
	return ": no answer has a " + strings.Join(s.Goodput.Unjudged(), " or ")
}

// tally is the counts as text: "12 failed, 3 timeout; http_5xx 12, deadline 3".
func tally(c report.Counts) string {
	if c.Total == 0 {
		return "none was measured"
	}
	text := list(c.ByStatus, func(k string, n int) string { return fmt.Sprintf("%d %s", n, k) })
	if len(c.ByClass) > 0 {
		text += "; " + list(c.ByClass, func(k string, n int) string { return fmt.Sprintf("%s %d", k, n) })
	}
	return text
}

func list(m map[string]int, say func(string, int) string) string {
	var parts []string
	for _, k := range sortedKeys(m) {
		if m[k] > 0 {
			parts = append(parts, say(k, m[k]))
		}
	}
	return strings.Join(parts, ", ")
}

// invalidity is the failed checks of a stage as text.
func invalidity(s *report.Stage) string {
	var parts []string
	for _, c := range s.Checks {
		if c.OK || c.Note {
			continue
		}
		text := fmt.Sprintf("%s %.4g, limit %.4g", c.Name, c.Value, c.Limit)
		if c.Text != "" {
			text = c.Text + ": " + text
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", c.Reason, text))
	}
	if len(parts) == 0 {
		return strings.Join(s.InvalidReasons, ", ")
	}
	return strings.Join(parts, "; ")
}

func validity(m *report.Measurement) []report.Validity {
	var out []report.Validity
	for _, sample := range m.Samples {
		for _, s := range sample.Stages {
			if s.Explored {
				continue
			}
			for _, c := range s.Checks {
				if s.Planned.Measure && !c.OK {
					out = append(out, report.Validity{Measurement: m.Index, Sample: s.Sample, Stage: s.Stage,
						StageName: s.Planned.Name, Check: c})
				}
			}
		}
	}
	return out
}
