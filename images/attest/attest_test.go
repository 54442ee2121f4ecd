package attest

import (
	"encoding/json"
	"runtime/debug"
	"strings"
	"testing"
)

const sum = "h1:Khu2En+0gcYPZ2kuIihfswbzxv/mIHXgzPZ018Oty48="

func makeInfo() *debug.BuildInfo {
	return &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "bflow.dev/bflow", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "example.com/A", Version: "v1.2.3+incompatible", Sum: sum},
			{Path: "example.com/old", Version: "v0.1.0", Replace: &debug.Module{Path: "example.com/new", Version: "v0.2.0"}},
		}}
}

func makeImage() Image {
	return Image{Name: "load-gen", Version: "v0.1.0", Platform: "linux/arm64",
		Digest: "sha256:" + strings.Repeat("1", 64), Info: makeInfo(),
		Roots: Module{Path: "example.com/roots", Version: "v0.3.0"}}
}

func TestSPDXListsTheProgramItsModulesAndTheCertificates(t *testing.T) {
	text, err := SPDX(makeImage())
	if err != nil {
		t.Fatal(err)
	}
	var doc spdxDocument
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	var got []string
	ids := map[string]bool{documentID: true}
	for _, p := range doc.Packages {
		got = append(got, p.Name+" "+p.Version)
		if ids[p.ID] {
			t.Errorf("id %s is there twice", p.ID)
		}
		ids[p.ID] = true
	}
	want := "load-gen v0.1.0, bflow.dev/bflow v0.1.0, stdlib 1.26.8, example.com/A v1.2.3+incompatible, " +
		"example.com/new v0.2.0, example.com/roots v0.3.0"
	if strings.Join(got, ", ") != want {
		t.Errorf("got %s\nwant %s", strings.Join(got, ", "), want)
	}
	for _, r := range doc.Relationships {
		if !ids[r.Element] || !ids[r.Related] {
			t.Errorf("%s %s %s names an element that is not there", r.Element, r.Type, r.Related)
		}
	}
	if doc.SPDXVersion != "SPDX-2.3" || doc.DataLicense != "CC0-1.0" ||
		!strings.HasPrefix(doc.DocumentNamespace, "https://") || strings.Contains(doc.DocumentNamespace, "#") {
		t.Errorf("head of the document: %+v", doc)
	}
	if ref := doc.Packages[3].ExternalRefs[0].Locator; ref != "pkg:golang/example.com/a@v1.2.3%2Bincompatible" {
		t.Errorf("package URL %s", ref)
	}
}

func TestAnImageWithoutADigestIsNotDescribed(t *testing.T) {
	i := makeImage()
	i.Digest = ""
	if _, err := SPDX(i); err == nil {
		t.Error("no error")
	}
}

func TestProvenanceNamesSubjectsAndDependencies(t *testing.T) {
	text, err := Provenance(Build{Name: "load-gen", Package: "bflow.dev/bflow/cmd/load-gen", Version: "v0.1.0",
		Revision: "0123abcd-dirty", Modules: Modules(makeInfo()),
		Digests: map[string]string{
			"index": "sha256:" + strings.Repeat("1", 64), "linux/amd64": "sha256:" + strings.Repeat("2", 64),
		}})
	if err != nil {
		t.Fatal(err)
	}
	var st statement
	if err := json.Unmarshal(text, &st); err != nil {
		t.Fatal(err)
	}
	if len(st.Subject) != 2 || st.Subject[1].Digest["sha256"] != strings.Repeat("2", 64) {
		t.Errorf("subjects %+v", st.Subject)
	}
	deps := st.Predicate.BuildDefinition.ResolvedDependencies
	if len(deps) != 4 || deps[0].Digest["gitCommit"] != "0123abcd" || deps[0].Annotations["modified"] != "true" {
		t.Fatalf("dependencies %+v", deps)
	}
	if got := deps[2].Digest["dirHash"]; got != "2a1bb6127fb481c60f67692e22285fb306f3c6ffe62075e0ccf674d7c3adcb8f" {
		t.Errorf("sum of a module: %s", got)
	}
}

func TestDocumentsOfEqualImagesAreEqual(t *testing.T) {
	a, err := SPDX(makeImage())
	if err != nil {
		t.Fatal(err)
	}
	b, _ := SPDX(makeImage())
	if string(a) != string(b) || !strings.Contains(string(a), `"created": "1970-01-01T00:00:00Z"`) {
		t.Error("the document has a time of its own")
	}
}
