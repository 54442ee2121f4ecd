package attest

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
)

// SPDXType is the media type of an SPDX document as JSON.
const SPDXType = "application/spdx+json"

// Module is one Go module by version. Sum is its h1 sum, empty where none is known.
type Module struct{ Path, Version, Sum string }

// Image is an image of one platform that a document is about.
type Image struct {
	Name     string // of the binary
	Version  string // of bflow
	Platform string // such as linux/amd64
	Digest   string // sha256:... of the image's manifest
	Info     *debug.BuildInfo
	Roots    Module // where the certificates of the base layer are from
}

type spdxDocument struct {
	SPDXVersion       string       `json:"spdxVersion"`
	DataLicense       string       `json:"dataLicense"`
	ID                string       `json:"SPDXID"`
	Name              string       `json:"name"`
	DocumentNamespace string       `json:"documentNamespace"`
	CreationInfo      spdxCreation `json:"creationInfo"`
	Packages          []spdxPkg    `json:"packages"`
	Relationships     []spdxRel    `json:"relationships"`
}

type spdxCreation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPkg struct {
	Name             string         `json:"name"`
	ID               string         `json:"SPDXID"`
	Version          string         `json:"versionInfo,omitempty"`
	DownloadLocation string         `json:"downloadLocation"`
	FilesAnalyzed    bool           `json:"filesAnalyzed"`
	LicenseConcluded string         `json:"licenseConcluded"`
	LicenseDeclared  string         `json:"licenseDeclared"`
	Copyright        string         `json:"copyrightText"`
	SourceInfo       string         `json:"sourceInfo,omitempty"`
	Purpose          string         `json:"primaryPackagePurpose,omitempty"`
	Checksums        []spdxChecksum `json:"checksums,omitempty"`
	ExternalRefs     []spdxRef      `json:"externalRefs,omitempty"`
}

type spdxChecksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type spdxRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type spdxRel struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

const (
	unknown    = "NOASSERTION"
	documentID = "SPDXRef-DOCUMENT"
	imageID    = "SPDXRef-Image"
)

// SPDX returns the list of what is in an image, an SPDX 2.3 document as JSON: the program, every module that is linked
// into it, the standard library and the certificates. It holds no time of its own, so equal images have equal
// documents.
func SPDX(i Image) ([]byte, error) {
	hex, ok := strings.CutPrefix(i.Digest, "sha256:")
	if !ok || i.Info == nil {
		return nil, fmt.Errorf("describing image %q: it needs a digest and build information", i.Name)
	}
	doc := spdxDocument{
		SPDXVersion: "SPDX-2.3", DataLicense: "CC0-1.0", ID: documentID, Name: i.Name + " " + i.Platform,
		DocumentNamespace: "https://bflow.dev/spdx/" + i.Name + "-" + hex,
		CreationInfo:      spdxCreation{Created: epoch, Creators: []string{"Tool: bflow-" + i.Version}},
		Packages:          []spdxPkg{i.asPackage(hex)},
		Relationships:     []spdxRel{{documentID, "DESCRIBES", imageID}},
	}
	for n, m := range i.modules() {
		p := modulePackage(m, n)
		doc.Packages = append(doc.Packages, p)
		doc.Relationships = append(doc.Relationships, spdxRel{imageID, "CONTAINS", p.ID})
	}
	text, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		return nil, fmt.Errorf("describing image %q: %w", i.Name, err)
	}
	return append(text, '\n'), nil
}

func (i Image) asPackage(hex string) spdxPkg {
	return spdxPkg{
		Name: i.Name, ID: imageID, Version: i.Version, DownloadLocation: unknown, LicenseConcluded: unknown,
		LicenseDeclared: "Apache-2.0", Copyright: unknown, Purpose: "CONTAINER",
		Checksums:    []spdxChecksum{{"SHA256", hex}},
		ExternalRefs: []spdxRef{{"PACKAGE-MANAGER", "purl", "pkg:oci/" + i.Name + "@sha256%3A" + hex}},
	}
}

// modules lists what the image holds besides files that name no origin: the program first.
func (i Image) modules() []Module {
	list := append([]Module{{Path: i.Info.Main.Path, Version: i.Version}}, Modules(i.Info)...)
	if i.Roots.Path != "" {
		list = append(list, i.Roots)
	}
	return list
}

// Modules lists the standard library and the modules that a program is linked with, replacements in place of what they
// replace.
func Modules(info *debug.BuildInfo) []Module {
	list := []Module{{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")}}
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		list = append(list, Module{Path: d.Path, Version: d.Version, Sum: d.Sum})
	}
	return list
}

func modulePackage(m Module, n int) spdxPkg {
	p := spdxPkg{
		Name: m.Path, ID: fmt.Sprintf("SPDXRef-Module-%d", n), Version: m.Version, DownloadLocation: unknown,
		LicenseConcluded: unknown, LicenseDeclared: unknown, Copyright: unknown,
		ExternalRefs: []spdxRef{{"PACKAGE-MANAGER", "purl", purl(m)}},
	}
	if m.Sum != "" {
		// The h1 sum is over names and sums of files, so it is no checksum of a package in the sense of SPDX.
		p.SourceInfo = "go.sum: " + m.Sum
	}
	return p
}

// purl is the package URL of a Go module.
func purl(m Module) string {
	return "pkg:golang/" + strings.ToLower(m.Path) + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
}
