package provision

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/openai/tritontest"
	"bflow.dev/bflow/tasks/step"
)

// onTriton measures a plan over the protocol of Triton.
func onTriton(model string) func(*runplan.RunPlan) {
	return func(p *runplan.RunPlan) {
		p.Deployment.Model.Name = model
		p.Deployment.Engine = runplan.Engine{Kind: "triton", Image: "reg.example/tritonserver:v1",
			Command: []string{"tritonserver"},
			Port:    8000, HealthPath: "/v2/health/ready", MetricsPath: "/metrics", MetricsPort: 8002}
		p.Measurements = []runplan.Measurement{{Name: "load", API: runplan.API{Type: runplan.APITriton, VerifyTLS: true}}}
	}
}

// TestTritonIsReadyWhenItsModelIs: on the port of its own protocol it has no list of models.
func TestTritonIsReadyWhenItsModelIs(t *testing.T) {
	for _, row := range []struct {
		name, model string
		models      []string
		loading     int64
		edit        func(*runplan.RunPlan)
		code        int
		want        string
	}{
		{name: "its model is ready", model: "tiny", models: []string{"tiny"}},
		{name: "its model is loaded after a while", model: "tiny", models: []string{"tiny"}, loading: 9},
		{name: "a model with a slash in its name", model: "acme/tiny", models: []string{"acme/tiny"}},
		{name: "the readiness path is that of Triton", model: "tiny", models: []string{"tiny"}, loading: 3,
			edit: func(p *runplan.RunPlan) { p.Deployment.EndpointPath = "/v2/health/ready" }},
		{name: "the requests name a model and a version of its repository", model: "acme/tiny", models: []string{"ensemble"},
			edit: func(p *runplan.RunPlan) {
				p.Measurements[0].API.Path = "/v2/models/ensemble/versions/1/generate_stream"
			}},
		{name: "the profile says nothing of Triton", model: "tiny", models: []string{"tiny"},
			edit: func(p *runplan.RunPlan) { p.Deployment.Engine.Kind = "vllm" }},
		{name: "it has other models", model: "tiny", models: []string{"huge", "vast"}, code: contract.ExitUnhealthy,
			want: `it serves "huge", "vast", but the plan asks for "tiny"`},
		{name: "it is measured in another protocol, and is no Triton by the profile", model: "tiny", models: []string{"tiny"},
			code: contract.ExitUnhealthy, want: `check that "/v1/models" is the readiness path`,
			edit: func(p *runplan.RunPlan) {
				p.Deployment.Engine.Kind, p.Measurements[0].API.Type = "vllm", runplan.APIChat
			}},
	} {
		t.Run(row.name, func(t *testing.T) {
			triton := &tritontest.Server{Models: row.models}
			triton.Loading.Store(row.loading)
			server := httptest.NewServer(triton)
			defer server.Close()
			b := newBench(t, func(p *runplan.RunPlan) {
				onTriton(row.model)(p)
				p.Deployment.Endpoint = &runplan.Endpoint{BaseURL: server.URL}
				if row.edit != nil {
					row.edit(p)
				}
			})
			code, out := b.run("up")
			if code != row.code || !strings.Contains(out, row.want) {
				t.Fatalf("exit %d, want %d; said %q, want %q in it", code, row.code, out, row.want)
			}
			var end Endpoint
			if err := step.ReadJSON(filepath.Join(b.dir, contract.FileEndpoint), &end); row.code == 0 &&
				(err != nil || !slices.Equal(end.ServedModels, []string{row.model}) || end.Version != "2.51.0") {
				t.Errorf("%+v, %v", end, err)
			}
		})
	}
}

func TestTritonOnAClusterComesUpAndLeavesItsMetrics(t *testing.T) {
	b, server := newRemoteBench(t, onTriton("tiny"))
	b.env[contract.EnvRequests] = `{"nvidia.com/gpu":"1"}`
	server.OnCreate(func(q apitest.Request, made apitest.Object) {
		if q.Resource == "deployments" {
			makePod(server, made, podReady)
			available(server, q.Path)
		}
	})
	server.OnDelete(func(q apitest.Request, _ apitest.Object) {
		server.Remove(q.Path)
		for _, pod := range server.List(podsAt) {
			server.Remove(pod)
		}
	})
	triton := &tritontest.Server{Models: []string{"tiny"}}
	server.Proxy(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, path, ok := strings.Cut(r.URL.Path, ":8002"); ok && path == "/metrics" {
			w.Write([]byte("nv_inference_count 1"))
			return
		}
		_, r.URL.Path, _ = strings.Cut(r.URL.Path, ":8000")
		triton.ServeHTTP(w, r)
	}))
	if code, out := b.run("up"); code != 0 {
		t.Fatalf("up: exit %d: %s", code, out)
	}
	code, out := b.run("release")
	text, err := os.ReadFile(filepath.Join(b.dir, contract.FileLastScrape))
	if code != 0 || err != nil || string(text) != "nv_inference_count 1" {
		t.Errorf("release: exit %d, metrics %q, %v: %s", code, text, err, out)
	}
}
