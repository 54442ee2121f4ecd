package runplan

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

const (
	// MaxName leaves 23 of the 63 characters of a label for the time and the random part of a run id.
	MaxName = 40
	// MaxRelease leaves room for what derived names append (up to 25), and llm-d charts cut "gaie-<release>" at 40.
	MaxRelease = 35

	maxLabel = 63
)

// PointName is the name of a point without a run id: "<base>[-m<index>][-r<repeat>]", at most MaxName characters,
// a valid RFC 1123 label. Index 0 means a plain run, repeat 0 no repeats. Where the name has to be cut, only its base
// is, and a hash of the raw name takes the place of what went.
func PointName(raw string, index, repeat int) string {
	suffix := pointSuffix(index, repeat)
	base := Base(raw)
	if len(base)+len(suffix) <= MaxName {
		return base + suffix
	}
	suffix = "-" + short(raw) + suffix
	return cut(base, MaxName-len(suffix)) + suffix
}

// Release is the name prefix and label of everything that one run creates on a target: a pure function of the plan
// and the run id, at most MaxRelease characters, different for every run and every point.
func Release(p *RunPlan, runID string) string {
	index := p.Index
	if len(p.Axes) == 0 {
		index = 0
	}
	suffix := pointSuffix(index, p.Repeat) + "-" + short(p.Experiment+"\x00"+runID)
	return cut(Base(p.Experiment), MaxRelease-len(suffix)) + suffix
}

// Base is the raw name as an RFC 1123 label: lower case, "/" as "-" and "." dropped where that is enough,
// else every other character as "-".
func Base(raw string) string {
	if s := strings.Trim(strings.NewReplacer("/", "-", ".", "").Replace(strings.ToLower(raw)), "-"); isLabel(s) {
		return s
	}
	words := strings.FieldsFunc(strings.ToLower(raw), func(r rune) bool { return !isLabelRune(r) })
	if base := strings.Join(words, "-"); base != "" {
		return base
	}
	return "x"
}

func pointSuffix(index, repeat int) string {
	var s string
	if index > 0 {
		s = "-m" + strconv.Itoa(index)
	}
	if repeat > 0 {
		s += "-r" + strconv.Itoa(repeat)
	}
	return s
}

// cut shortens base to n characters and trims the "-" that a cut may leave.
func cut(base string, n int) string {
	if len(base) > n {
		base = base[:n]
	}
	return strings.TrimRight(base, "-")
}

// short is 8 hex digits that stand for s.
func short(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}

func isLabel(s string) bool {
	return s != "" && len(s) <= maxLabel && strings.Trim(s, "-") == s &&
		strings.IndexFunc(s, func(r rune) bool { return r != '-' && !isLabelRune(r) }) < 0
}

func isLabelRune(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }
