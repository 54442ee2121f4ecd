package step_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"

	"github.com/google/go-cmp/cmp"
)

func TestValuesOfSecretsAreReadFromFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"llm/key": "s3cret\n", "llm/user": "me"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	secrets := (&step.Options{SecretsDir: dir}).Secrets()
	text, err := runplan.Fill(runplan.SecretKey{Name: "llm", Key: "user"}.Reference()+":"+
		runplan.SecretKey{Name: "llm", Key: "key"}.Reference(), secrets.Find)
	if err != nil || text != "me:s3cret" {
		t.Errorf("got %q, %v", text, err)
	}
	if diff := cmp.Diff([]string{"s3cret"}, secrets.Values()); diff != "" {
		t.Errorf("values to hide (-want +got):\n%s", diff)
	}
	for _, k := range []runplan.SecretKey{{Name: "llm", Key: "other"}, {Name: "../llm", Key: "key"},
		{Name: "llm", Key: ".."}} {
		if value, err := secrets.Find(k); step.Code(err) != contract.ExitUsage || value != "" {
			t.Errorf("%v: %q, %v", k, value, err)
		}
	}
	_, err = (&step.Options{}).Secrets().Find(runplan.SecretKey{Name: "llm", Key: "key"})
	if err == nil || !strings.Contains(err.Error(), `key "key" of Secret "llm": it does not exist; create the Secret`) {
		t.Errorf("without a folder: %v", err)
	}
}
