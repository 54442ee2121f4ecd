package component

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/runplan/contract"
)

// parse reads flags as a command line gives them, by their names.
func parse(t *testing.T, given map[string][]string) Settings {
	t.Helper()
	settings, err := ParseFlags(Flags(All()), func(f Flag) []string { return given[f.Name] })
	if err != nil {
		t.Fatal(err)
	}
	return settings
}

func TestPrometheusServersThatGetAToken(t *testing.T) {
	openShift := detect.Found{Platform: detect.Platform{OpenShift: "4.19"}}
	own := []string{"https://p.example,audience=p"}
	for _, row := range []struct {
		name  string
		given []string
		found detect.Found
		want  string
	}{
		{name: "none"},
		{name: "on OpenShift its Thanos", found: openShift, want: thanos},
		{name: "those that are named", given: own, want: `"audience": "p"`},
		{name: "those that are named, on OpenShift", given: own, found: openShift, want: "https://p.example"},
	} {
		t.Run(row.name, func(t *testing.T) {
			site := Site{Cluster: row.found}
			if row.given != nil {
				site.Settings = parse(t, map[string][]string{"prometheus": row.given})
			}
			out, err := (&Servers{}).Render(site)
			if err != nil {
				t.Fatal(err)
			}
			site.Pieces = append(site.Pieces, out.Piece)
			if out, err = (&Bflow{}).Render(site); err != nil {
				t.Fatal(err)
			}
			list := ""
			for _, o := range out.Objects {
				if o.GetName() == contract.ConfigMapPrometheus {
					list, _, _ = unstructured.NestedString(o.Object, "data", contract.PrometheusKey)
				}
			}
			if (list == "") != (row.want == "") || !strings.Contains(list, row.want) {
				t.Errorf("the list is %q, want %q in it", list, row.want)
			}
		})
	}
}

func TestWhatIsNoServerForATokenIsRefused(t *testing.T) {
	for address, want := range map[string]string{
		"https://p.example:9091/prom":   "",
		"http://p.example":              "because a token is sent to it",
		"https://jane:s3cret@p.example": "because a token is sent to it",
		"p.example":                     "because a token is sent to it",
		"https://p.example,cert=x":      "want ca=FILE or audience=NAME",
	} {
		_, err := parseServers([]string{address})
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%s: %v", address, err)
		}
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, []byte("PEM"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := parseServers([]string{"https://p.example,ca=" + ca}); err == nil ||
		!strings.Contains(err.Error(), "it contains no certificate") {
		t.Errorf("a file without a certificate: %v", err)
	}
}

func TestWhatFlagsDoNotTake(t *testing.T) {
	for _, row := range []struct{ name, given, want string }{
		{"controller-replicas", "-1", "-1 replicas of the controller: want 1 or more"},
		{"controller-replicas", "many", `--controller-replicas "many": want a number`},
		{"device-pods", "nobody", `--device-pods "nobody": it is bflow or anyone`},
		{"network-policies", "maybe", `--network-policies "maybe": want true or false`},
	} {
		_, err := ParseFlags(Flags(All()), func(f Flag) []string {
			if f.Name == row.name {
				return []string{row.given}
			}
			return nil
		})
		if err == nil || err.Error() != row.want {
			t.Errorf("--%s %s: %v, want %s", row.name, row.given, err, row.want)
		}
	}
	if s := parse(t, map[string][]string{"controller-replicas": {"0"}, "device-pods": {""}}); len(s) > 0 {
		t.Errorf("what says nothing is kept: %v", s)
	}
}
