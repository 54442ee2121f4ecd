package runplan

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Names under which a plan is delivered.
const (
	FileJSON = "plan.json"
	FileGzip = "plan.json.gz"
)

// maxSize bounds what is unpacked: a plan above 900 kB is refused when it is made, so this much is damage.
const maxSize = 16 << 20

// Read returns the plan in folder dir, from plan.json or plan.json.gz, after checking its digest.
func Read(dir string) (*RunPlan, error) {
	b, err := readFile(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the plan in %q: %w", dir, err)
	}
	p, err := Decode(b)
	if err != nil {
		return nil, fmt.Errorf("reading the plan in %q: %w", dir, err)
	}
	if err := Verify(p); err != nil {
		return nil, err
	}
	return p, nil
}

// Decode reads a plan strictly: an unknown field, another kind or more than one document is an error.
// The old spelling api_version is taken. The digest is not checked: see Verify.
func Decode(b []byte) (*RunPlan, error) {
	doc := struct {
		*RunPlan
		OldVersion string `json:"api_version"`
	}{RunPlan: &RunPlan{}}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("decoding a RunPlan: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("decoding a RunPlan: there is more after the document")
	}
	p := doc.RunPlan
	if p.APIVersion == "" {
		p.APIVersion = doc.OldVersion
	}
	return p, checkKind(p)
}

// Marshal returns p as the bytes in which a plan travels: canonical JSON.
func Marshal(p *RunPlan) ([]byte, error) { return Canonical(p) }

func checkKind(p *RunPlan) error {
	if p.Kind != Kind {
		return fmt.Errorf("decoding a RunPlan: kind is %q, want %q", p.Kind, Kind)
	}
	if p.APIVersion != APIVersion && p.APIVersion != apiVersionAlias {
		return fmt.Errorf("decoding a RunPlan: apiVersion is %q, want %q", p.APIVersion, APIVersion)
	}
	return nil
}

func readFile(dir string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(dir, FileJSON))
	if !errors.Is(err, fs.ErrNotExist) {
		return b, err
	}
	f, err := os.Open(filepath.Join(dir, FileGzip))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("neither %s nor %s is there", FileJSON, FileGzip)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return unpack(f)
}

func unpack(r io.Reader) ([]byte, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("unpacking %s: %w", FileGzip, err)
	}
	b, err := io.ReadAll(io.LimitReader(z, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("unpacking %s: %w", FileGzip, err)
	}
	if len(b) > maxSize {
		return nil, fmt.Errorf("unpacking %s: more than %d bytes", FileGzip, maxSize)
	}
	return b, nil
}
