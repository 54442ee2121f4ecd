package compile_test

import (
	"fmt"
	"os"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/runplan"
)

// A plan from a file, as a run that starts at once.
func ExampleCompile() {
	text, err := os.ReadFile("testdata/endpoint.plan.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := runplan.Decode(text)
	if err != nil {
		fmt.Println(err)
		return
	}
	objects, err := compile.Compile(plan, compile.Options{Version: "v0.1.0", NoQueue: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(objects.PipelineRun.GenerateName)
	for _, task := range objects.Pipeline.Spec.Tasks {
		fmt.Println("-", task.Name)
	}
	// Output:
	// tiny-chat-
	// - provision
	// - smoketest
	// - load-gen-0
	// - collect
	// - mlflow-push
}
