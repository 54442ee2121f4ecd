package profiles_test

import (
	"io/fs"
	"path"
	"testing"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/generator/profiles"
)

// TestShippedProfilesCheckTheCertificateOfPrometheus: whoever names one has not thought of certificates.
func TestShippedProfilesCheckTheCertificateOfPrometheus(t *testing.T) {
	files, err := fs.Glob(profiles.FS, "metrics/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d profiles, %v", len(files), err)
	}
	for _, file := range files {
		text, err := fs.ReadFile(profiles.FS, file)
		if err != nil {
			t.Fatal(err)
		}
		var profile struct {
			Spec struct {
				VerifyTLS bool `yaml:"verify_tls"`
			} `yaml:"spec"`
		}
		if err := yaml.Unmarshal(text, &profile); err != nil {
			t.Fatal(err)
		}
		if !profile.Spec.VerifyTLS {
			t.Errorf("MetricsProfile %s trusts whoever answers", path.Base(file))
		}
	}
}
