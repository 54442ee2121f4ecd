package runplan

import (
	"encoding/json"
	"slices"
	"strings"
)

// measured is the part of a plan that its hash covers: what is measured and nothing else. A field that is new in
// the plan must be omitted when empty, else every older hash changes.
type measured struct {
	Deployment   Deployment        `json:"deployment"`
	Repos        map[string]string `json:"repos,omitempty"` // pinned commits
	Measurements []string          `json:"measurements"`    // their hashes
	SLO          *SLO              `json:"slo,omitempty"`
	Objectives   map[int]*SLO      `json:"objectives,omitempty"` // of the measurements that have their own
}

func (s *Sealer) hashedPlan(p *RunPlan) measured {
	m := measured{
		Deployment: s.hashedDeployment(p.Deployment), SLO: p.SLO, Measurements: make([]string, len(p.Measurements)),
	}
	for i := range p.Measurements {
		m.Measurements[i] = p.Measurements[i].Hash
		if slo := p.Measurements[i].SLO; slo != nil {
			if m.Objectives == nil {
				m.Objectives = map[int]*SLO{}
			}
			m.Objectives[i] = slo
		}
	}
	if p.Pins != nil {
		m.Repos = p.Pins.Repos
	}
	return m
}

// hashedDeployment clears what does not change the server under test: names, ports and paths of checks, where
// the model files lie, which nodes the pods may use, and what its platform adds to that.
func (s *Sealer) hashedDeployment(d Deployment) Deployment {
	d.Profile, d.EndpointPath, d.SchedulerProfile = "", "", ""
	d.RepoURL, d.PlatformChannel = "", ""
	if s.Identity != nil {
		s.Identity(&d)
	}
	d.SchedulerImage, d.ProxyImage = imageIdentity(d.SchedulerImage), imageIdentity(d.ProxyImage)
	d.Engine.Image = imageIdentity(d.Engine.Image)
	d.Engine.Port, d.Engine.HealthPath = 0, ""
	d.Engine.MetricsPath, d.Engine.MetricsPort = "", 0
	if d.Endpoint != nil {
		d.Endpoint = &Endpoint{BaseURL: server(d.Endpoint.BaseURL)}
	}
	if d.ModelStorage != nil {
		d.ModelStorage = modelFiles(d.ModelStorage)
	}
	d.Runtime = withoutPlacement(d.Runtime)
	return d
}

// server is what tells an endpoint from others: of an address that lies in a Secret nothing else is known.
func server(base string) string {
	if IsReference(base) {
		return strings.ReplaceAll(base, "~", " ")
	}
	return base
}

// modelFiles keeps the one part that can select other weights.
func modelFiles(s *ModelStorage) *ModelStorage {
	if s.ModelSubpath == "" {
		return nil
	}
	return &ModelStorage{ModelSubpath: s.ModelSubpath}
}

// withoutPlacement drops the pod settings that choose machines and accounts: the environment of a run is compared
// elsewhere, it is not part of the identity.
func withoutPlacement(runtime json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(runtime, &fields) != nil {
		return runtime
	}
	for _, key := range []string{"node_selector", "tolerations", "service_account_name", "image_pull_secrets"} {
		delete(fields, key)
	}
	if len(fields) == 0 {
		return nil
	}
	kept, err := json.Marshal(fields)
	if err != nil {
		return runtime
	}
	return kept
}

// hashedMeasurement clears the names and labels, the objectives, the credentials and what the translation said. Whose
// words described the load counts only where that tool runs.
func hashedMeasurement(m Measurement) Measurement {
	m.Hash, m.Name, m.Labels = "", "", nil
	m.Notes, m.Record = nil, nil
	m.Venv, m.SLO = "", nil
	if m.Runner != RunnerExternal {
		m.Tool = ""
	}
	m.API.VerifyTLS, m.API.APIKeySecret, m.API.TLS = false, nil, nil
	m.Stages = slices.Clone(m.Stages)
	for i := range m.Stages {
		m.Stages[i].Name = ""
	}
	if m.Search != nil && m.Search.Level != nil {
		search, level := *m.Search, *m.Search.Level
		level.Name = ""
		search.Level, m.Search = &level, &search
	}
	if t := m.Data.Trace; t != nil && t.SHA256 != "" {
		content := *t
		content.URL = ""
		m.Data.Trace = &content
	}
	if f := m.Data.File; f != nil && f.SHA256 != "" {
		content := *f
		content.URL = ""
		m.Data.File = &content
	}
	return m
}
