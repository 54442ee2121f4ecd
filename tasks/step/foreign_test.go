package step_test

import (
	"testing"

	"bflow.dev/bflow/tasks/step"

	"github.com/google/go-cmp/cmp"
)

func TestAForeignProgramGetsNoCredentialOfThePerson(t *testing.T) {
	env, withheld := step.Foreign([]string{"PATH=/bin", "BFLOW_API_KEY=s", "BFLOW_API_KEY_FILE=/s",
		"AWS_SECRET_ACCESS_KEY=s", "AWS_REGION=x", "HF_TOKEN=s",
		"CUDA_VISIBLE_DEVICES=0", "TOKENIZERS_PARALLELISM=false", "MLFLOW_TRACKING_URI=http://m",
		"BFLOW_LIFELINE_FD=3", "PWD=/",
		"DATABASE_URL=postgres://me:s@h/d", "OPTIONS=--api-key s", "HTTPS_PROXY=http://me:s@proxy:1"})
	if diff := cmp.Diff([]string{"PATH=/bin", "AWS_REGION=x", "HF_TOKEN=s", "CUDA_VISIBLE_DEVICES=0",
		"TOKENIZERS_PARALLELISM=false", "PWD=/",
		"HTTPS_PROXY=http://me:s@proxy:1"}, env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"AWS_SECRET_ACCESS_KEY", "BFLOW_API_KEY", "BFLOW_API_KEY_FILE", "DATABASE_URL",
		"OPTIONS"}, withheld); diff != "" {
		t.Errorf("withheld (-want +got):\n%s", diff)
	}
}
