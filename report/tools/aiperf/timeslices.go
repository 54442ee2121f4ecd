package aiperf

import (
	"path/filepath"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// timeslices are the time slices of a stage, where the measurement kept any. A file that cannot be read is as one that
// is not there: the other files stand without it.
func timeslices(run tools.Run, m *tools.Measurement, s *tools.Stage) []object {
	all, err := report.ReadSlices(filepath.Join(report.MeasurementDir(run.Dir, m.Index), report.FileSlices))
	if err != nil {
		return nil
	}
	var out []object
	for _, slice := range all {
		if slice.Stage != s.StageResult.Stage || slice.Sample != 0 {
			continue
		}
		one := object{"timeslice_index": slice.Slice, "start_ns": slice.StartNS, "end_ns": slice.EndNS, "request_count": scalar("requests", float64(slice.Done))}
		if slice.Errors > 0 {
			one["error_request_count"] = scalar("requests", float64(slice.Errors))
		}
		for name, metric := range map[string]string{"time_to_first_token": "ttft", "inter_chunk_latency": "itl"} {
			if v, ok := slice.Metrics[metric]; ok {
				one[name] = fromMetric("ms", v)
			}
		}
		for name, rate := range map[string]string{"request_throughput": "request_rate", "output_token_throughput": "output_token_rate"} {
			if v, ok := slice.Rates[rate]; ok {
				unit := "requests/sec"
				if name == "output_token_throughput" {
					unit = "tokens/sec"
				}
				one[name] = scalar(unit, v)
			}
		}
		out = append(out, one)
	}
	return out
}
