package devices_test

import (
	"strings"
	"testing"

	"bflow.dev/bflow/queue/devices"

	"github.com/google/go-cmp/cmp"
)

func TestRequestsAreWholeDevices(t *testing.T) {
	got, err := devices.ParseRequests(`{"bflow.dev/cluster-slot":"1","nvidia.com/gpu":"4"}`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(amounts("bflow.dev/cluster-slot", 1, gpu, 4), got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(amounts(gpu, 4), got.Devices()); diff != "" {
		t.Errorf("a slot is no device:\n%s", diff)
	}
	for text, want := range map[string]string{`{"nvidia.com/gpu":"500m"}`: "whole number",
		`{"nvidia.com/gpu":"-1"}`: "whole number", `{"nvidia.com/gpu":4}`: "reading requests", `{"a/b":"x"}`: `"x"`,
		`{"nvidia.com/gpu":"100000000"}`:             "ask for what one run needs",
		`{"bflow.dev/gpu-h100":"1e17"}`:              "ask for what one run needs",
		`{"a/b":"1e999999999"}`:                      "write it as a plain number",
		`{"a/b":"1e-999999999"}`:                     "write it as a plain number",
		`{"a/b":"1E99999999999999999999"}`:           "plain number",
		`{"a/b":"` + strings.Repeat("9", 100) + `"}`: "write it as a plain number"} {
		if _, err := devices.ParseRequests(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", text, err, want)
		}
	}
	if got, err := devices.ParseRequests(""); err != nil || len(got) != 0 {
		t.Errorf("no annotation is no request: %v, %v", got, err)
	}
}

func TestAmountsThatAreNoDevicesMayBeLarge(t *testing.T) {
	for _, text := range []string{"1E", "2Ei", "1e18", "64Gi", "1000000000000"} {
		if _, err := devices.ParseQuantity("memory", text); err != nil {
			t.Errorf("%s of memory: %v", text, err)
		}
	}
}

func TestPodsOfARun(t *testing.T) {
	got,
		err := devices.ParsePods(
		`[{"count":2,"requests":{"nvidia.com/gpu":"4","cpu":"1"}},{"count":0,"requests":{"nvidia.com/gpu":"1"}}]`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]devices.Shape{pods(2, gpu, 4)}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := devices.ParsePods(`[{"count":-1}]`); err == nil {
		t.Error("a negative count must be refused")
	}
	want := []devices.Shape{pods(2, "amd.com/gpu", 1), pods(4, gpu, 1, qH100, 1)}
	if diff := cmp.Diff(want, devices.Shapes(amounts(gpu, 4, qH100, 4, "amd.com/gpu", 2, "bflow.dev/cluster-slot",
		1))); diff != "" {
		t.Errorf("without pods (-want +got):\n%s", diff)
	}
}

func TestProducts(t *testing.T) {
	for label, want := range map[string]string{
		"NVIDIA-H100-80GB-HBM3":                  "bflow.dev/gpu-h100-80gb-hbm3",
		"NVIDIA H100 80GB HBM3":                  "bflow.dev/gpu-h100-80gb-hbm3",
		"NVIDIA-A100-SXM4-40GB-MIG-1g.5gb":       "bflow.dev/gpu-a100-sxm4-40gb-mig-1g.5gb",
		"Tesla-T4-SHARED":                        "bflow.dev/gpu-tesla-t4-shared",
		"AMD_Instinct_MI300X_OAM":                "bflow.dev/gpu-instinct-mi300x-oam",
		"nvidia":                                 "bflow.dev/gpu-nvidia",
		"":                                       "",
		"___":                                    "",
		strings.Repeat("x", 58) + "-" + "longer": "bflow.dev/gpu-" + strings.Repeat("x", 58),
	} {
		got := devices.Product(label)
		if got != want {
			t.Errorf("%q: got %q, want %q", label, got, want)
		}
		if _, name, _ := strings.Cut(got, "/"); len(name) > 63 {
			t.Errorf("%q: %q is too long for a resource", label, name)
		}
	}
}
