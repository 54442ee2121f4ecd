package faults

import (
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/verdict"
)

// outcome is what becomes of a run.
type outcome struct {
	task    string // that stops the run; empty: it comes to its end
	status  string // of the requests that meet the fault; empty: no load was sent
	class   string // their error class
	verdict string // as if the clocks of this machine were perfect: a busy one adds findings about itself
	finding string // why the measurement is invalid, or empty
	exit    int
	says    string // part of what is printed
}

// row is a kind of fault: when it is there before the run, and when it begins in the middle of the load.
type row struct {
	kind           string
	atStart, later outcome
}

// harmless is a fault that a client must bear.
func harmless() outcome {
	return outcome{status: report.StatusOK, verdict: verdict.Pass, exit: contract.ExitPass}
}

// churn is a fault that a client bears, and that is not what should be measured.
func churn() outcome {
	return outcome{
		status: report.StatusOK, verdict: verdict.Invalid, finding: "connection_churn", exit: contract.ExitPass,
		says: "connection_churn",
	}
}

// mismatch is a fault that leaves nothing to believe about tokens.
func mismatch() outcome {
	return outcome{
		status: report.StatusOK, verdict: verdict.Invalid, finding: "token_mismatch",
		exit: contract.ExitPass, says: "token_mismatch",
	}
}

// unfit is a server that is not measured at all.
func unfit(task, says string) outcome {
	return outcome{task: task, verdict: verdict.Fail, exit: contract.ExitUnhealthy, says: says}
}

// spoils is a fault that makes requests fail.
func spoils(status, class string) outcome {
	return outcome{
		status: status, class: class, verdict: verdict.Fail, exit: contract.ExitFail,
		says: "of the requests failed, more than 1 %",
	}
}

func failed(class string) outcome { return spoils(report.StatusFailed, class) }

// nothing is a server of which load-gen can read no answer.
func nothing(class string) outcome {
	o := failed(class)
	o.says = "no request succeeded"
	return o
}

// gone is a server that died under the load.
func gone() outcome {
	o := failed(report.ErrDial)
	o.exit, o.says = contract.ExitUnhealthy, "the engine ended with exit status 1"
	return o
}

// table has a row for every kind.
func table() []row {
	smoke := func(says string) outcome { return unfit(contract.Smoketest, says) }
	return []row{
		{runplan.FaultHTTP400, smoke("answered 400"), failed(report.ErrHTTP4xx)},
		{runplan.FaultHTTP429, smoke("answered 429"), failed(report.ErrHTTP429)},
		{runplan.FaultHTTP500, smoke("answered 500"), failed(report.ErrHTTP5xx)},
		{runplan.FaultHTTP503, smoke("answered 503"), failed(report.ErrHTTP5xx)},
		{runplan.FaultEmpty, smoke("without a token"), spoils(report.StatusEmpty, "")},
		{runplan.FaultResetReused, churn(), churn()},
		{runplan.FaultReset, smoke("measured API"), failed(report.ErrReset)},
		{runplan.FaultTruncated, smoke("measured API"), failed(report.ErrTruncated)},
		{runplan.FaultErrorEvent, smoke("answered 500"), failed(report.ErrErrorInStream)},
		{runplan.FaultStall, smoke("no answer"), spoils(report.StatusTimeout, report.ErrStall)},
		{runplan.FaultShortOutput, smoke("requested exactly 8 tokens, got 4"), mismatch()},
		{runplan.FaultNoDone, smoke("without [DONE]"), failed(report.ErrTruncated)},
		{runplan.FaultUsageMissing, harmless(), mismatch()},
		{runplan.FaultSplit, harmless(), harmless()},
		{runplan.FaultCoalesce, harmless(), harmless()},
		{runplan.FaultTokensPerEvent, harmless(), harmless()},
		{runplan.FaultCRLF, harmless(), harmless()},
		{runplan.FaultComments, harmless(), harmless()},
		{runplan.FaultMultiLine, harmless(), harmless()},
		{runplan.FaultCutUTF8, harmless(), harmless()},
		{runplan.FaultCR, smoke("not JSON"), harmless()}, // legal, but smoketest reads no bare CR
		{runplan.FaultBOM, harmless(), harmless()},
		{runplan.FaultNoSpace, harmless(), harmless()},
		{runplan.FaultBigEvent, harmless(), harmless()},
		{runplan.FaultUsageEvery, harmless(), harmless()},
		{runplan.FaultRoleFirst, harmless(), harmless()},
		{runplan.FaultReasoning, harmless(), harmless()},
		{runplan.FaultToolCalls, smoke("streamed no token"), harmless()},
		{runplan.FaultGzip, nothing(report.ErrBadPayload), failed(report.ErrBadPayload)}, // smoketest asks for it
		{runplan.FaultFreeze, harmless(), spoils(report.StatusTimeout, report.ErrStall)},
		{runplan.FaultNotReady, unfit(contract.Provision, "not ready after"), failed(report.ErrHTTP5xx)},
		{runplan.FaultWrongModel, unfit(contract.Provision, "set model.name"), failed(report.ErrHTTP4xx)},
		{runplan.FaultSlowAccept, harmless(), harmless()},
		{runplan.FaultCrash, unfit(contract.Provision, "it ended with exit status 1"), gone()},
	}
}
