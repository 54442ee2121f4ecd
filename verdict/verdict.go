package verdict

import (
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan/contract"
)

// The words of a verdict, of a run, a stage or a gate.
const (
	Pass         = "pass"
	Fail         = "fail"
	Inconclusive = "inconclusive" // the data cannot decide
	Invalid      = "invalid"      // the data must not be believed
	NotJudged    = report.NotJudged
)

// precedence of exit codes when several apply at once.
func precedence() []int {
	return []int{contract.ExitUsage, contract.ExitUnhealthy, contract.ExitFail, contract.ExitInvalid, contract.ExitBreach,
		contract.ExitInconclusive}
}

// ExitCode returns the code that stands for all of codes: the first of 2, 3, 1, 4, 5, 6 that is among them, else 0.
func ExitCode(codes ...int) int {
	for _, want := range precedence() {
		for _, code := range codes {
			if code == want {
				return want
			}
		}
	}
	return contract.ExitPass
}

// Word returns the word for an exit code.
func Word(code int) string {
	switch code {
	case contract.ExitPass:
		return Pass
	case contract.ExitInvalid:
		return Invalid
	case contract.ExitInconclusive:
		return Inconclusive
	}
	return Fail
}
