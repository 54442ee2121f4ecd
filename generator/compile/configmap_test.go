package compile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/pipelines/check"
	"bflow.dev/bflow/runplan"

	corev1 "k8s.io/api/core/v1"
)

// stages gives a plan n stages with names of 8 characters and a tail.
func stages(n int, tail func(i int) string) func(*runplan.RunPlan) {
	return func(p *runplan.RunPlan) {
		stage := p.Measurements[0].Stages[0]
		p.Measurements[0].Stages = nil
		for i := range n {
			stage.Name = fmt.Sprintf("s-%06d%s", i, tail(i))
			p.Measurements[0].Stages = append(p.Measurements[0].Stages, stage)
		}
	}
}

func noTail(int) string { return "" }

func TestEveryTaskReadsBackThePlanThatWasCompiled(t *testing.T) {
	checker, err := check.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name   string
		plan   func(*runplan.RunPlan)
		packed bool
	}{
		{name: "a small plan is text", plan: func(*runplan.RunPlan) {}},
		{name: "quotes, line breaks and other scripts survive", plan: func(p *runplan.RunPlan) {
			p.Measurements[0].Notes = []string{"it's \"so\"\n\ttab\u2028\u0085\x7f", "Grüße, 世界 🚀", "\ufeff: # {}[]", "- a: b"}
		}},
		{name: "a plan above 900 kB is packed", plan: stages(15_000, noTail), packed: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			plan := MakePlan(t, row.plan)
			var out bytes.Buffer
			if err := Write(&out, one(plan), Options{}); err != nil {
				t.Fatal(err)
			}
			b, err := pipelines.Parse(&out)
			if err != nil {
				t.Fatal(err)
			}
			if err := checker.Bundle(b); err != nil {
				t.Error(err)
			}
			if got := len(b.ConfigMaps[0].BinaryData) > 0; got != row.packed {
				t.Errorf("packed is %t, want %t", got, row.packed)
			}
			if got := mounted(t, b.ConfigMaps[0]); got.Digest != plan.Digest {
				t.Errorf("the plan read back has digest %s, want %s", got.Digest, plan.Digest)
			}
		})
	}
}

// mounted reads the plan as a task does: from the folder where the kubelet puts the ConfigMap. Read checks the digest.
func mounted(t *testing.T, cm *corev1.ConfigMap) *runplan.RunPlan {
	t.Helper()
	dir := t.TempDir()
	files := map[string][]byte{}
	for name, text := range cm.Data {
		files[name] = []byte(text)
	}
	for name, data := range cm.BinaryData {
		files[name] = data
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plan, err := runplan.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func TestAPlanThatNoConfigMapHoldsIsRefused(t *testing.T) {
	// Hashes do not compress.
	plan := MakePlan(t, stages(30_000, func(i int) string {
		return contentName("", i) + contentName("", -i) + contentName("", i<<16) + contentName("", i<<24)
	}))
	_, err := Compile(plan, Options{})
	if err == nil || !strings.Contains(err.Error(), `compiling plan "tiny-chat": `) ||
		!strings.Contains(err.Error(), "give it fewer stages") {
		t.Errorf("got %v, want a refusal that says what to do", err)
	}
}
