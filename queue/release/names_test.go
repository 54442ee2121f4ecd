package release

import (
	"math/rand/v2"
	"strings"
	"testing"

	"bflow.dev/bflow/queue/retry"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	longestRun = 63 // Tekton takes no longer name of a PipelineRun
	cutByAPI   = 58 // what the API server keeps of a generateName, before five characters of its own
)

// TestEveryNameOfARunFits derives every name from names of every length: what makes a name is an experiment or the name
// that a person gave a PipelineRun, both of up to 253 characters with dots and dashes.
func TestEveryNameOfARunFits(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	seen := map[string]string{}
	for n := 1; n <= validation.DNS1123SubdomainMaxLength; n++ {
		name := subdomain(random, n)
		twin := name[:n-1] + string('a'+(name[n-1]-'a'+1)%26) // differs in its last character only
		for _, raw := range []string{name, twin} {
			plan := &runplan.RunPlan{Experiment: raw, Name: runplan.PointName(raw, n, 1), Index: n, Repeat: 1}
			base := plan.Name + "-"
			for _, id := range []string{base[:min(len(base), cutByAPI)] + "abcde", raw[:min(n, cutByAPI)] + "vwxyz", raw} {
				if len(id) <= longestRun {
					derived(t, seen, plan, id)
				}
			}
		}
	}
}

func derived(t *testing.T, seen map[string]string, plan *runplan.RunPlan, id string) {
	t.Helper()
	label := func(what, value string) {
		if errs := validation.IsValidLabelValue(value); len(errs) > 0 {
			t.Errorf("%s of run %q: %q: %v", what, id, value, errs)
		}
	}
	name := func(what, value string, most int) {
		if errs := validation.IsDNS1123Subdomain(value); len(errs) > 0 || len(value) > most {
			t.Errorf("%s of run %q: %q (%d characters): %v", what, id, value, len(value), errs)
		}
		if other, taken := seen[what+value]; taken && other != id {
			t.Errorf("%s %q is that of runs %q and %q", what, value, other, id)
		}
		seen[what+value] = id
	}
	pr := &tektonv1.PipelineRun{ObjectMeta: metav1.ObjectMeta{Name: id,
		Labels: map[string]string{contract.LabelPlanHash: "h"}}}
	name("run", id, longestRun)
	for attempt := 2; attempt <= retry.MaxAttempts; attempt++ {
		name("finish", finishName(pr), longestRun)
		pr = retry.Next(pr)
		name("attempt", pr.Name, longestRun)
		label("attempt", pr.Name) // Tekton writes it to everything it makes
		if run.ID(pr) != id || run.Attempt(pr) != attempt {
			t.Errorf("attempt %d of run %q is %d of %q", attempt, id, run.Attempt(pr), run.ID(pr))
		}
	}
	label("label", id)
	name("Secret", contract.TargetSecret(id), validation.DNS1123SubdomainMaxLength)
	name("ConfigMap", contract.ResultConfigMap(id), validation.DNS1123SubdomainMaxLength)
	release := runplan.Release(plan, id)
	name("release", release, runplan.MaxRelease)
	if errs := validation.IsDNS1123Label(release); len(errs) > 0 { // of a Service and of pods
		t.Errorf("release of run %q: %q: %v", id, release, errs)
	}
}

// subdomain is a name of n characters as the API server takes it.
func subdomain(random *rand.Rand, n int) string {
	var b strings.Builder
	letter := func() { b.WriteByte('a' + byte(random.IntN(26))) }
	for i := range n {
		last := b.String()
		if i == 0 || i == n-1 || strings.ContainsAny(last[i-1:], ".-") || random.IntN(8) > 0 {
			letter()
			continue
		}
		b.WriteByte("-."[random.IntN(2)])
	}
	return b.String()
}
