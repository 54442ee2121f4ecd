package export_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"bflow.dev/bflow/report/reporttest"
	"bflow.dev/bflow/runplan"
)

// TestTheRealToolsLoadOurFiles: the models and validators of the tools themselves, from their own packages.
func TestTheRealToolsLoadOurFiles(t *testing.T) {
	goodput := &runplan.SLO{Goodput: &runplan.Goodput{Min: .9, TTFT: 1e8}}
	runs := map[string]reporttest.Run{"healthy": {Rates: []float64{20, 40}, Failing: .1, SLO: goodput},
		"all failed":            {Rates: []float64{10}, Failing: 1},
		"a share is left out":   {Rates: []float64{20}, Trim: runplan.Trim{Share: .1}},
		"seconds are left out":  {Rates: []float64{20}, Trim: runplan.Trim{Duration: runplan.Duration(time.Second)}},
		"requests are left out": {Rates: []float64{20}, Trim: runplan.Trim{Requests: 5}}}
	for _, tt := range []struct{ variable, format, script string }{
		{"BFLOW_GUIDELLM_PYTHON", "guidellm", guidellmModel},
		{"BFLOW_GUIDELLM031_PYTHON", "guidellm-0.3.1", guidellmModel},
		{"BFLOW_INFERENCE_PERF_PYTHON", "inference-perf", inferencePerfModel},
		{"BFLOW_AIPERF_PYTHON", "aiperf", aiperfModel},
	} {
		t.Run(tt.format, func(t *testing.T) {
			python := os.Getenv(tt.variable)
			if python == "" {
				t.Skipf("needs the Python of a virtual environment with the tool in %s", tt.variable)
			}
			for name, run := range runs {
				dir := t.TempDir()
				write(t, dir, tt.format, run)
				cmd := exec.Command(python, "-c", tt.script, dir)
				cmd.Env = append(os.Environ(), "HF_HUB_OFFLINE=1")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%s: %v\n%s", name, err, out)
				}
			}
		})
	}
}

func write(t *testing.T, dir, format string, run reporttest.Run) {
	t.Helper()
	e := exporterOf(t, format)
	files, err := e.Files(t.Context(), built(t, run))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		var b bytes.Buffer
		if err := f.Write(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// guidellmModel loads the report with the tool's model and compares what the model computes from the stamps of a row
// with what the row says.
const guidellmModel = `
import importlib.machinery, json, math, sys, types
try:
    import torch
except ImportError:  # the model of the report does not need it, the packages around it name it
    class Stub(types.ModuleType):
        def __getattr__(self, name):
            if name.startswith('__'): raise AttributeError(name)
            return type(name, (), {'__class_getitem__': classmethod(lambda c, x: c)})
    for name in ('torch', 'torch.utils', 'torch.utils.data', 'torch.utils.data.dataloader', 'torch.utils.data.dataset', 'torch.utils.data.distributed'):
        m = Stub(name); m.__path__ = []; m.__spec__ = importlib.machinery.ModuleSpec(name, None); sys.modules[name] = m
try:
    from guidellm.benchmark.schemas import GenerativeBenchmarksReport
except ImportError:
    from guidellm.benchmark import GenerativeBenchmarksReport
path = sys.argv[1] + '/benchmarks.json'
report, raw = GenerativeBenchmarksReport.load_file(path), json.load(open(path))
assert len(report.benchmarks) == len(raw['benchmarks']) > 0
for b, want in zip(report.benchmarks, raw['benchmarks']):
    assert len(b.requests.successful) + len(b.requests.errored) > 0
    for row, w in zip(b.requests.successful, want['requests']['successful']):
        for name in ('request_latency', 'time_to_first_token_ms', 'time_per_output_token_ms', 'inter_token_latency_ms', 'output_tokens_per_second', 'tokens_per_second'):
            assert math.isclose(getattr(row, name), w[name], rel_tol=1e-4, abs_tol=1e-3), (name, getattr(row, name), w[name])
`

// inferencePerfModel loads the files with the tool's model and runs its own validation of a set of reports.
const inferencePerfModel = `
import json, os, sys
from inference_perf.reportgen.base import ResponsesSummary
from inference_perf.reportgen.validation import validate_reports
from inference_perf.utils import ReportFile
files = []
for name in sorted(os.listdir(sys.argv[1])):
    contents = json.load(open(os.path.join(sys.argv[1], name)))
    if 'per_request' not in name: ResponsesSummary.model_validate(contents)
    files.append(ReportFile(name=name[:-5], contents=contents))
found = validate_reports(files).contents
groups = [found['global'], *found['reports'].values()]
assert files and not any(g['errors'] for g in groups), found
`

// aiperfModel loads summary and rows with the tool's models.
const aiperfModel = `
import os, sys
from aiperf.common.models.export_models import JsonExportData
from aiperf.common.models.record_models import MetricRecordInfo
n = 0
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        text = open(os.path.join(folder, name)).read()
        if name == 'profile_export_aiperf.json': JsonExportData.model_validate_json(text); n += 1
        if name == 'profile_export.jsonl':
            for line in text.splitlines(): MetricRecordInfo.model_validate_json(line); n += 1
assert n > 1
`
