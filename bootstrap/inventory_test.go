package bootstrap

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/bootstrap/component"
)

func TestInventoryIsReadAsItWasWritten(t *testing.T) {
	entries := []Entry{
		{Ref: apply.Ref{Kind: "Namespace", Name: "bench"}, Shared: true},
		{Ref: apply.Ref{Group: "apps", Kind: "Deployment", Namespace: "bflow-system", Name: "bflow-controller"}},
	}
	text := formatEntries(entries)
	if want := "/Namespace//bench shared\napps/Deployment/bflow-system/bflow-controller\n"; text != want {
		t.Errorf("written as %q, want %q", text, want)
	}
	got, err := parseEntries(text)
	if diff := cmp.Diff(entries, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := parseEntries("nonsense\n"); err == nil {
		t.Error("nonsense is read")
	}
}

func TestInventoryHoldsEachObjectOnce(t *testing.T) {
	ref := apply.Ref{Kind: "Namespace", Name: "bench"}
	old := Inventory{Parts: map[string][]Entry{partBflow: {{Ref: ref, Shared: true}}}}
	inv := old.With(partBflow, []Entry{{Ref: ref}, {Ref: apply.Ref{Kind: "Namespace", Name: "more"}}})
	if e, ok := inv.Find(partBflow, ref); !ok || !e.Shared || len(inv.Parts[partBflow]) != 2 {
		t.Errorf("got %v", inv.Parts)
	}
	if len(old.Parts[partBflow]) != 1 {
		t.Error("the old inventory was changed")
	}
}

func TestAFlagOfTheControllerReplacesTheOneOfItsNameAlone(t *testing.T) {
	before := Settings{Controller: []string{"--force-after=5m", "--keep-pods=1h"}}
	for _, row := range []struct {
		name       string
		anew, want []string
	}{
		{"none is given", nil, []string{"--force-after=5m", "--keep-pods=1h"}},
		{"another one", []string{"--keep-runs=forever"}, []string{"--force-after=5m", "--keep-pods=1h",
			"--keep-runs=forever"}},
		{"the same with another value", []string{"--keep-pods=2h"}, []string{"--force-after=5m", "--keep-pods=2h"}},
		{"the same spelt with one dash", []string{"-force-after=1m"}, []string{"--keep-pods=1h", "-force-after=1m"}},
	} {
		if got := (Options{Controller: row.anew}).Resume(before).Controller; !slices.Equal(got, row.want) {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

func TestSettingsOfTheInstallationAreGoneOnWith(t *testing.T) {
	before := Settings{Namespaces: []string{"a"}, Registry: "reg.example", Overlay: "dev", Image: "i",
		LoadNodes:  map[string]string{"k": "v"},
		Controller: []string{"--f"}, Components: component.Settings{"replicas": []byte("2"),
			"networkPolicies": []byte("true")}}
	got := Options{Registry: "other.example", Components: component.Settings{"replicas": []byte("3")}}.Resume(before)
	if got.Registry != "other.example" || got.Namespaces[0] != "a" || got.Overlay != "dev" || got.Image != "i" ||
		got.LoadNodes["k"] != "v" ||
		got.Controller[0] != "--f" || string(got.Components["replicas"]) != "3" ||
		string(got.Components["networkPolicies"]) != "true" {
		t.Errorf("got %+v", got)
	}
}

// TestTheInventoryKeepsSettingsAsEarlierVersionsDid: an inventory of theirs is read, and written back byte for byte.
func TestTheInventoryKeepsSettingsAsEarlierVersionsDid(t *testing.T) {
	const text = `{"versions":{"bflow":"v1"},"namespaces":["bench"],"overlay":"dev","controller":["--f"],"replicas":2,` +
		`"prometheus":[{"url":"https://p.example","audience":"p"}],"devicePods":"anyone","networkPolicies":true,` +
		`"targets":{"far":{"uid":"u"}}}`
	var got Settings
	must(t, json.Unmarshal([]byte(text), &got))
	if len(got.Components) != 4 || got.Overlay != "dev" || got.Targets["far"].UID != "u" {
		t.Errorf("read %+v", got)
	}
	again, err := json.Marshal(got)
	must(t, err)
	if diff := cmp.Diff(text, string(again)); diff != "" {
		t.Errorf("written otherwise (-want +got)\n%s", diff)
	}
	for want, s := range map[string]Settings{`{}`: {},
		`{"targets":{"far":{"uid":"u"}}}`: {Targets: map[string]TargetSettings{"far": {UID: "u"}}}} {
		if text, err := json.Marshal(s); err != nil || string(text) != want {
			t.Errorf("wrote %s, want %s: %v", text, want, err)
		}
	}
}
