package aiperf

import (
	"path/filepath"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// timeslicesOf are the time slices of a stage, where the measurement kept any. A file that cannot be read is as one
// that is not there: the other files stand without it.
func timeslicesOf(run tools.Run, m *tools.Measurement, s *tools.Stage) []timeslice {
	all, err := report.ReadSlices(filepath.Join(report.MeasurementDir(run.Dir, m.Index), report.FileSlices))
	if err != nil {
		return nil
	}
	var out []timeslice
	for i := range all {
		if all[i].Stage == s.StageResult.Stage && all[i].Sample == 0 {
			out = append(out, timesliceOf(&all[i]))
		}
	}
	return out
}

func timesliceOf(from *report.Slice) timeslice {
	count := func(n int) result { return scalar("requests", float64(n)) }
	distribution := func(name string) *result {
		m, ok := from.Metrics[name]
		if !ok {
			return nil
		}
		return new(fromMetric("ms", m))
	}
	rate := func(name, unit string) *result {
		v, ok := from.Rates[name]
		if !ok {
			return nil
		}
		return new(scalar(unit, v))
	}
	out := timeslice{Index: from.Slice, StartNS: from.StartNS, EndNS: from.EndNS, RequestCount: count(from.Done),
		TimeToFirstToken: distribution("ttft"), InterChunkLatency: distribution("itl"),
		RequestThroughput:     rate("request_rate", "requests/sec"),
		OutputTokenThroughput: rate("output_token_rate", "tokens/sec")}
	if from.Errors > 0 {
		out.ErrorRequestCount = new(count(from.Errors))
	}
	return out
}
