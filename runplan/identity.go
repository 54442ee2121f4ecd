package runplan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Identify fills in what identifies p, a plan of a server that is there already or of no platform in particular: the
// hash of each measurement, then Hash and Digest.
func Identify(p *RunPlan) error {
	for i := range p.Measurements {
		if err := IdentifyMeasurement(&p.Measurements[i]); err != nil {
			return err
		}
	}
	return Seal(p)
}

// IdentifyMeasurement sets the hash of m. It depends on m alone, so that a point measured on a shared deployment
// equals the same point measured alone.
func IdentifyMeasurement(m *Measurement) error {
	hash, err := identity(hashedMeasurement(*m))
	if err != nil {
		return fmt.Errorf("hashing measurement %q: %w", m.Name, err)
	}
	m.Hash = hash
	return nil
}

// Seal sets Hash and Digest of such a plan whose measurements are identified already. Any later change of p needs
// another Seal.
func Seal(p *RunPlan) error { return new(Sealer).Seal(p) }

// Verify reports whether p is the document that its digest was taken of.
func Verify(p *RunPlan) error {
	want, err := digest(p)
	if err != nil {
		return err
	}
	if p.Digest != want {
		return fmt.Errorf(
			"verifying plan %q: digest %q does not match its content (%s); the plan was changed after it was made, plan "+
				"the experiment again", p.Name, p.Digest, want)
	}
	return nil
}

// digest is the sum over the whole document with the field digest absent.
func digest(p *RunPlan) (string, error) {
	bare := *p
	bare.Digest = ""
	d, err := Sum(&bare)
	if err != nil {
		return "", fmt.Errorf("taking the digest of plan %q: %w", p.Name, err)
	}
	return d, nil
}

// identity is Sum with all references to Secrets alike: which Secret holds a credential does not change what is
// measured.
func identity(v any) (string, error) {
	b, err := Canonical(v)
	if err != nil {
		return "", err
	}
	s := sha256.Sum256(reference.ReplaceAllLiteral(b, []byte("secretKeyRef~~")))
	return hex.EncodeToString(s[:]), nil
}

// Sum is the hex SHA-256 of v as canonical JSON: the identity of a configuration.
func Sum(v any) (string, error) {
	b, err := Canonical(v)
	if err != nil {
		return "", err
	}
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:]), nil
}
