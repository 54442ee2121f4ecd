package smoketest

import (
	"net/http/httptest"
	"strings"
	"testing"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/openai/tritontest"
)

// TestTritonIsFitWhenItsModelIsReady: on the port of its own protocol it has no list of models.
func TestTritonIsFitWhenItsModelIsReady(t *testing.T) {
	deployed := func(p *runplan.RunPlan) {
		p.Deployment.Engine = runplan.Engine{Kind: "triton", HealthPath: "/v2/health/ready"}
		p.Measurements[0].API = runplan.API{Type: runplan.APITriton, Path: "/v2/models/tiny/generate_stream", Stream: true}
	}
	for _, row := range []struct {
		name   string
		models []string
		edit   func(*runplan.RunPlan)
		code   int
		want   string
	}{
		{name: "its model is ready", models: []string{"tiny"}, edit: deployed},
		{name: "somebody else runs it", models: []string{"tiny"}, edit: func(p *runplan.RunPlan) {
			deployed(p)
			p.Deployment.Engine = runplan.Engine{Kind: "vllm", HealthPath: "/health"}
			p.Deployment.Endpoint = &runplan.Endpoint{BaseURL: "http://triton.example"}
		}},
		{name: "it has another model", models: []string{"huge"}, edit: deployed, code: contract.ExitUnhealthy,
			want: `it serves "huge", but the plan asks for "tiny"`},
		{name: "it is asked for chats, which only its OpenAI frontend answers", models: []string{"tiny"},
			edit: func(p *runplan.RunPlan) {
				deployed(p)
				p.Measurements[0].API = runplan.API{Type: runplan.APIChat, Path: "/v1/chat/completions"}
			}, code: contract.ExitUnhealthy, want: "set load.api.type: triton"},
	} {
		t.Run(row.name, func(t *testing.T) {
			server := httptest.NewServer(&tritontest.Server{Models: row.models})
			defer server.Close()
			code, out, r := ask(t, planned(t, plan(row.edit)), server.URL, nil)
			if code != row.code || r.Passed != (row.code == 0) || !strings.Contains(out, row.want) {
				t.Errorf("exit %d, want %d and %q: %s", code, row.code, row.want, out)
			}
		})
	}
}
