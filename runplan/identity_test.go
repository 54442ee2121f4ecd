package runplan

import (
	"encoding/json"
	"testing"
	"time"
)

func TestAToolCountsWhereItRuns(t *testing.T) {
	native, external := Measurement{Tool: "guidellm", Runner: RunnerNative},
		Measurement{Tool: "guidellm", Runner: RunnerExternal}
	if hashOf(t, native) != hashOf(t, Measurement{Tool: "aiperf", Runner: RunnerNative}) {
		t.Error("the same stages in the words of another tool are another measurement")
	}
	if hashOf(t, external) == hashOf(t, Measurement{Tool: "aiperf", Runner: RunnerExternal}) {
		t.Error("two tools that run themselves are one measurement")
	}
}

func TestATraceIsKnownByItsContent(t *testing.T) {
	at := func(url, sum string) Measurement {
		return Measurement{Data: Data{Trace: &Trace{URL: url, SHA256: sum}}}
	}
	if hashOf(t, at("http://a", "s")) != hashOf(t, at("http://b", "s")) {
		t.Error("a trace with a checksum is another one behind another URL")
	}
	if hashOf(t, at("http://a", "")) == hashOf(t, at("http://b", "")) {
		t.Error("traces without a checksum are the same behind two URLs")
	}
}

func TestAZeroDrainIsNotAnAbsentOne(t *testing.T) {
	cutOff := Duration(0)
	if hashOf(t, Measurement{Stages: []Stage{{}}}) == hashOf(t, Measurement{Stages: []Stage{{Drain: &cutOff}}}) {
		t.Error("cutting requests in flight and waiting for them have one hash")
	}
}

func TestAMeasurementHasOneHashOnASharedDeploymentAndAlone(t *testing.T) {
	one, two := Measurement{Name: "a", Samples: 1}, Measurement{Name: "b", Samples: 2}
	alone := &RunPlan{Name: "alone", Measurements: []Measurement{two}}
	shared := &RunPlan{Name: "shared", Measurements: []Measurement{one, two}}
	single := &RunPlan{Name: "single", Index: 4, Measurements: []Measurement{two}}
	for _, p := range []*RunPlan{alone, shared, single} {
		if err := Identify(p); err != nil {
			t.Fatal(err)
		}
	}
	if alone.Measurements[0].Hash != shared.Measurements[1].Hash {
		t.Error("the second measurement of the shared deployment is another one than the same alone")
	}
	if alone.Hash != single.Hash {
		t.Error("a point with one measurement depends on its name or index")
	}
}

func TestObjectivesOfALoadCountInThePlanAndNotInTheMeasurement(t *testing.T) {
	one := Measurement{Name: "a", Samples: 1}
	judged := one
	judged.SLO = &SLO{Goodput: &Goodput{Min: 0.9, TTFT: Duration(time.Second)}}
	plain, strict := &RunPlan{Measurements: []Measurement{one}}, &RunPlan{Measurements: []Measurement{judged}}
	for _, p := range []*RunPlan{plain, strict} {
		if err := Identify(p); err != nil {
			t.Fatal(err)
		}
	}
	if plain.Measurements[0].Hash != strict.Measurements[0].Hash || plain.Hash == strict.Hash {
		t.Error("want one measurement in two plans")
	}
}

func TestWhereAPodRunsIsNotWhatIsMeasured(t *testing.T) {
	at := func(runtime string) string {
		p := &RunPlan{Deployment: Deployment{Runtime: json.RawMessage(runtime)}}
		if err := Identify(p); err != nil {
			t.Fatal(err)
		}
		return p.Hash
	}
	if at(`{"node_selector":{"pool":"gpu"}, "tolerations":[{}], "service_account_name":"a"}`) != at("") {
		t.Error("node selector, tolerations or account count")
	}
	if at(`{"resources":{"requests":{"cpu":"8"}}}`) == at("") {
		t.Error("resources do not count")
	}
}

func TestImageIdentity(t *testing.T) {
	for _, row := range []struct{ name, ref, want string }{
		{"no image stays none", "", ""},
		{"a digest is all that counts", "mirror.example:5000/vllm/vllm-openai:v1@sha256:ab", "sha256:ab"},
		{"a registry host is dropped", "quay.io/vllm/vllm-openai:v1", "vllm/vllm-openai:v1"},
		{"a registry with a port is dropped", "localhost:5000/engine:v1", "engine:v1"},
		{"the first part of a path is no registry", "vllm/vllm-openai:v1", "vllm/vllm-openai:v1"},
		{"a missing tag is latest", "docker.io/library/engine", "engine:latest"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := imageIdentity(row.ref); got != row.want {
				t.Errorf("imageIdentity(%q) = %q, want %q", row.ref, got, row.want)
			}
		})
	}
}

// TestHashesStay fails when a change of the types gives known plans another identity: make the new field omitempty.
func TestHashesStay(t *testing.T) {
	p := &RunPlan{APIVersion: APIVersion, Kind: Kind, Name: "a", Measurements: []Measurement{{Stages: []Stage{{Rate: 2}}}}}
	if err := Identify(p); err != nil {
		t.Fatal(err)
	}
	const want = "d2f6f2c6c1a5ab5c5cd223c0bb41ee24bd7e7e621e6a5d1a106451b2ca10760d"
	if p.Hash != want {
		t.Errorf("hash = %s, want %s", p.Hash, want)
	}
}

func hashOf(t *testing.T, m Measurement) string {
	t.Helper()
	if err := IdentifyMeasurement(&m); err != nil {
		t.Fatal(err)
	}
	return m.Hash
}
