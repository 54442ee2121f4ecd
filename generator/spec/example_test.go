package spec_test

import (
	"fmt"
	"testing/fstest"

	"bflow.dev/bflow/generator/spec"
)

// Every problem of a file is reported at once, with its place and what was meant.
func ExampleLoadBytes() {
	shipped := fstest.MapFS{"m.yaml": {Data: []byte(`
apiVersion: bflow.dev/v1alpha1
kind: MetricsProfile
metadata: {name: detailed}
spec: {prometheus_url: "https://prom.example"}
`)}}
	_, found := spec.LoadBytes(spec.Options{Shipped: shipped}, "sweep.yaml", []byte(`
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: sweep}
spec:
  model: {name: acme/tiny-1b}
  deployment_profile: plian
  load:
    stages: [{rat: 4, duration: 90s}]
---
apiVersion: bflow.dev/v1alpha1
kind: DeploymentProfile
metadata: {name: plain}
spec: {platform: kubernetes, mode: plain}
`))
	fmt.Println(found.Err())
	// Output:
	// sweep.yaml:7:23: spec.deployment_profile: no DeploymentProfile named "plian"; closest: "plain" (1 in the catalogue)
	// sweep.yaml:9:15: spec.load.stages[0].rat: unknown field "rat" (did you mean "rate"?)
}

func ExampleExplain() {
	e, err := spec.Explain("experiment.spec.execution.timeout")
	fmt.Println(e.Type, e.Default, e.Meaning, err)
	// Output: duration 3h timeout of the whole run <nil>
}
