package runplan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Sealer seals plans one after the other. The metrics of a plan, most of its text, are mostly shared with its siblings:
// they are encoded once. The zero value is ready to use; a Sealer is not safe for concurrent use.
type Sealer struct {
	// Identity clears what of a deployment does not change what is measured, as its platform says; nil = all counts.
	Identity func(d *Deployment)

	metrics *Metrics // of the plan before
	text    []byte   // their canonical JSON
}

// Hash sets Hash alone, which is enough to tell plans apart.
func (s *Sealer) Hash(p *RunPlan) error {
	hash, err := identity(s.hashedPlan(p))
	if err != nil {
		return fmt.Errorf("hashing plan %q: %w", p.Name, err)
	}
	p.Hash = hash
	return nil
}

// Seal is the function Seal.
func (s *Sealer) Seal(p *RunPlan) error {
	if err := s.Hash(p); err != nil {
		return err
	}
	text, err := s.document(p)
	if err != nil {
		return fmt.Errorf("taking the digest of plan %q: %w", p.Name, err)
	}
	sum := sha256.Sum256(text)
	p.Digest = hex.EncodeToString(sum[:])
	return nil
}

// standIn keeps the place of the metrics while the rest is encoded. No file can hold its text: YAML has no NUL.
const standIn = "\x00metrics"

// document is the canonical JSON of p with the field digest absent.
func (s *Sealer) document(p *RunPlan) ([]byte, error) {
	bare := *p
	bare.Digest = ""
	if p.Metrics == nil {
		return Canonical(&bare)
	}
	if p.Metrics != s.metrics {
		text, err := Canonical(p.Metrics)
		if err != nil {
			return nil, err
		}
		s.metrics, s.text = p.Metrics, text
	}
	bare.Metrics = &Metrics{Profile: standIn}
	place, err := Canonical(bare.Metrics)
	if err != nil {
		return nil, err
	}
	text, err := Canonical(&bare)
	if err != nil {
		return nil, err
	}
	return bytes.Replace(text, place, s.text, 1), nil
}
