package step_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/tasks/step"

	"github.com/google/go-cmp/cmp"
)

const printed = `sk-a/b+c'd"e<f>`

func TestSecretsAreTakenOutOfWhatIsPrinted(t *testing.T) {
	quoted, err := json.Marshal(printed)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, text string
		want       string // "" = the text without the secret, which stands where %s is
	}{
		{name: "as it is", text: "key " + printed + " is set", want: "key [secret] is set"},
		{name: "twice, one behind the other", text: printed + printed + ".", want: "[secret][secret]."},
		{name: "at the end", text: "key " + printed, want: "key [secret]"},
		{name: "in JSON", text: `{"api_key":` + string(quoted) + `}`, want: `{"api_key":"[secret]"}`},
		{name: "in JSON of a program that leaves < as it is", text: `"sk-a/b+c'd\"e<f>"`, want: `"[secret]"`},
		{name: "in a list of Python", text: `api_key=['sk-a/b+c\'d"e<f>']`, want: `api_key=['[secret]']`},
		{name: "in a query", text: "/v1?key=" + url.QueryEscape(printed) + "&a=b", want: "/v1?key=[secret]&a=b"},
		{name: "in a path, with small digits", text: "/sk-a%2fb+c%27d%22e%3cf%3e/x", want: "/[secret]/x"},
		{name: "in hexadecimal digits", text: fmt.Sprintf("<%x|%X>", printed, printed), want: "<[secret]|[secret]>"},
		{name: "the beginning of it only", text: "sk-a/b is no key", want: "sk-a/b is no key"},
		{name: "another text", text: "ready\n", want: "ready\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := step.NewRedaction(printed)
			if got := r.Text(row.text); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
			for size := 1; size <= len(row.text); size++ {
				if got := streamed(t, r, row.text, size); got != row.want {
					t.Fatalf("in parts of %d bytes: got %q, want %q", size, got, row.want)
				}
			}
		})
	}
}

// streamed writes text in parts of size bytes.
func streamed(t *testing.T, r *step.Redaction, text string, size int) string {
	t.Helper()
	var out bytes.Buffer
	w := r.Writer(&out)
	for rest := text; rest != ""; {
		n := min(size, len(rest))
		if _, err := w.Write([]byte(rest[:n])); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestASecretInBase64IsTakenOutWhereverItBegins: behind a user's name it is spelt in another way than alone.
func TestASecretInBase64IsTakenOutWhereverItBegins(t *testing.T) {
	r := step.NewRedaction(printed)
	for _, before := range []string{"", "u:", "me:", "you:", "bflow:"} {
		for _, coding := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
			text := coding.EncodeToString([]byte(before + printed + "\n"))
			if got := r.Text("Basic " + text); !strings.Contains(got, "[secret]") ||
				len(got)-len("Basic [secret]") > len(before)*4/3+6 {
				t.Errorf("%q: of %q stays %q", before, text, got)
			}
		}
	}
}

func TestSecretsThatOverlapLeaveNothing(t *testing.T) {
	r := step.NewRedaction("abcdefgh", "efghijkl", "abcde")
	for size := 1; size < 14; size++ {
		if got := streamed(t, r, "<abcdefghijkl>", size); got != "<[secret]>" {
			t.Errorf("in parts of %d bytes: %q", size, got)
		}
	}
}

func TestAStreamThatEndsWithinASecretShowsNothingOfIt(t *testing.T) {
	if got := streamed(t, step.NewRedaction("sk-123456789"), "key sk-12345", 7); got != "key [secret]" {
		t.Errorf("got %q", got)
	}
}

func TestAKeyOfSeveralLinesIsTakenOutLineByLine(t *testing.T) {
	r := step.NewRedaction("-----BEGIN-----\nMIIEvQ==\n-----END-----\n")
	if got := r.Text("log: MIIEvQ==\nend"); got != "log: [secret]\nend" {
		t.Errorf("got %q", got)
	}
}

// TestASecretThatIsWaitedForHoldsNoOtherLineBack: who follows a log sees a line once it is printed.
func TestASecretThatIsWaitedForHoldsNoOtherLineBack(t *testing.T) {
	var out bytes.Buffer
	w := step.NewRedaction("sk-123456789").Writer(&out)
	w.Write([]byte("ready\nsk-"))
	if got := out.String(); got != "ready\n" {
		t.Errorf("got %q", got)
	}
	w.Write([]byte("iing\n"))
	if got := out.String(); got != "ready\nsk-iing\n" {
		t.Errorf("got %q", got)
	}
}

func TestNoRedactionTakesNothingOut(t *testing.T) {
	var none *step.Redaction
	if got := none.Text("as it is"); got != "as it is" {
		t.Errorf("got %q", got)
	}
}

// TestAllSecretsOfATaskAreFound as Kubernetes mounts them: each name is a link into a folder that is replaced as one.
func TestAllSecretsOfATaskAreFound(t *testing.T) {
	dir := t.TempDir()
	mounted := filepath.Join(dir, "..2026_11_27")
	for name, text := range map[string]string{"llm/key": "s3cret-1\n", "hub/token": "s3cret-2", "hub/pin": "12"} {
		path := filepath.Join(mounted, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"..data": "..2026_11_27", "llm": "..data/llm", "hub": "..data/hub"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	secrets := (&step.Options{SecretsDir: dir}).Secrets()
	if err := secrets.ReadAll(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"s3cret-2", "s3cret-1"}, secrets.Values()); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	for _, none := range []string{"", filepath.Join(dir, "missing")} {
		if err := (&step.Options{SecretsDir: none}).Secrets().ReadAll(); err != nil {
			t.Errorf("folder %q: %v", none, err)
		}
	}
}
