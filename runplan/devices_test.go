package runplan

import (
	"maps"
	"testing"
)

func TestDevices(t *testing.T) {
	for _, row := range []struct {
		name string
		d    Deployment
		want map[string]int
	}{
		{"vllm takes one GPU per rank", Deployment{Engine: Engine{Kind: "vllm"}, TensorParallel: 4},
			map[string]int{"nvidia.com/gpu": 4}},
		{"the simulated engine takes none", Deployment{Engine: Engine{Kind: "sim"}, TensorParallel: 4}, map[string]int{}},
		{"the simulated engine takes what the file gives it", Deployment{Engine: Engine{Kind: "sim"}, TensorParallel: 1,
			Runtime: []byte(`{"resources":{"limits":{"nvidia.com/gpu":"4","cpu":"2"}}}`)}, map[string]int{"nvidia.com/gpu": 4}},
		{"another vendor's device replaces the GPU that is removed",
			Deployment{Engine: Engine{Kind: "vllm"}, TensorParallel: 8,
				Runtime: []byte(`{"resources":{"limits":{"habana.ai/gaudi":"8"},"remove_limits":["nvidia.com/gpu"]}}`)},
			map[string]int{"habana.ai/gaudi": 8}},
		{"slices of a GPU take its place", Deployment{Engine: Engine{Kind: "vllm"}, TensorParallel: 1,
			Runtime: []byte(`{"resources":{"limits":{"nvidia.com/mig-3g.40gb":"2"}}}`)},
			map[string]int{"nvidia.com/mig-3g.40gb": 2}},
		{"GPUs of AMD take its place, though both are named", Deployment{Engine: Engine{Kind: "vllm"}, TensorParallel: 4,
			Runtime: []byte(`{"resources":{"requests":{"nvidia.com/gpu":"4"},"limits":{"amd.com/gpu":"4"}}}`)},
			map[string]int{"amd.com/gpu": 4}},
		{"Gaudis take its place", Deployment{Engine: Engine{Kind: "vllm"}, TensorParallel: 8,
			Runtime: []byte(`{"resources":{"requests":{"habana.ai/gaudi":"8"}}}`)}, map[string]int{"habana.ai/gaudi": 8}},
		{"a network card is beside the GPUs", Deployment{Engine: Engine{Kind: "vllm"}, TensorParallel: 2,
			Runtime: []byte(`{"resources":{"limits":{"rdma/ib":"1"}}}`)}, map[string]int{"nvidia.com/gpu": 2, "rdma/ib": 1}},
		{"the GPUs of an engine with model files are its ranks, whatever the file says",
			Deployment{Engine: Engine{Kind: "vllm"}, TensorParallel: 2,
				Runtime: []byte(`{"resources":{"limits":{"nvidia.com/gpu":"8"}}}`)}, map[string]int{"nvidia.com/gpu": 2}},
		{"an existing endpoint takes none", Deployment{Engine: Engine{Kind: "vllm"}, TensorParallel: 2,
			Endpoint: &Endpoint{}}, map[string]int{}},
		{"huge pages and storage are no devices", Deployment{Engine: Engine{Kind: "sim"},
			Runtime: []byte(`{"resources":{"limits":{"hugepages-2Mi":"4Mi","ephemeral-storage":"1Gi"}}}`)}, map[string]int{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := Devices(&row.d)
			if err != nil || !maps.Equal(got, row.want) {
				t.Errorf("got %v, %v, want %v", got, err, row.want)
			}
		})
	}
}

func TestHalfADeviceIsAnError(t *testing.T) {
	d := Deployment{Engine: Engine{Kind: "sim"}, Runtime: []byte(`{"resources":{"limits":{"nvidia.com/gpu":"0.5"}}}`)}
	if _, err := Devices(&d); err == nil {
		t.Error("no error")
	}
}
