package ends

import (
	"slices"
	"strings"

	"bflow.dev/bflow/e2e/product"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/verdict"
)

// Busy says whether what a run has printed is about other work on this machine.
func Busy(text string) bool {
	return slices.ContainsFunc(product.FindingsOfThisMachine(), func(reason string) bool {
		return strings.Contains(text, reason)
	})
}

// Sets are overrides as arguments.
func Sets(overrides []string) (args []string) {
	for _, o := range overrides {
		args = append(args, "--set", o)
	}
	return args
}

// WordOf is the word of a verdict as it would be on a machine that is not busy with other tests.
func WordOf(r *report.Report) string {
	if r.Verdict.Verdict != verdict.Invalid {
		return r.Verdict.Verdict
	}
	if !Busy(strings.Join(r.Verdict.Reasons, " ")) {
		return verdict.Invalid
	}
	var codes []int
	for i := range r.Measurements {
		m := &r.Measurements[i]
		for j := range m.Pooled.Stages {
			s := m.Pooled.Stages[j]
			if s.InvalidReasons = slices.DeleteFunc(slices.Clone(s.InvalidReasons),
				product.OfThisMachine); len(s.InvalidReasons) == 0 {
				s.Valid = true
			}
			if s.Planned.Measure {
				codes = append(codes, codeOf(verdict.Stage(&s)))
			}
		}
	}
	return verdict.Word(verdict.ExitCode(codes...))
}

// codeOf is the code of a word of a stage.
func codeOf(word string) int {
	switch word {
	case verdict.Pass:
		return contract.ExitPass
	case verdict.Invalid:
		return contract.ExitInvalid
	case verdict.Inconclusive:
		return contract.ExitInconclusive
	}
	return contract.ExitFail
}
