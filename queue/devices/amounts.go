package devices

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Amounts are whole devices by the name of their resource: "nvidia.com/gpu", or of their product: "bflow.dev/gpu-h100".
type Amounts map[string]int64

// ParseRequests reads the JSON of annotation bflow.dev/requests: resource to quantity, such as {"nvidia.com/gpu":"4"}.
// Every quantity must be a whole number that is not negative: a device cannot be shared by halves. "" is no request.
func ParseRequests(text string) (Amounts, error) {
	if text == "" {
		return Amounts{}, nil
	}
	var raw map[string]string
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, fmt.Errorf("reading requests %q: %w", text, err)
	}
	return parse(raw)
}

func parse(raw map[string]string) (Amounts, error) {
	out := make(Amounts, len(raw))
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		q, err := ParseQuantity(name, raw[name])
		if err != nil {
			return nil, fmt.Errorf("reading the request of %s: %w", name, err)
		}
		n, whole := q.AsInt64()
		if !whole || n < 0 {
			return nil, fmt.Errorf("reading the request of %s: %q is not a whole number of devices", name, raw[name])
		}
		out[name] = n
	}
	return out, nil
}

const (
	// MostDevices is more than any cluster has of one resource: who asks for more has mistyped, or wants to do harm.
	MostDevices = 1_000_000
	// An amount is read only where its text is this short and its exponent this small: "1e999999999" is a number of a
	// billion digits, and all of them are computed when it is compared with another.
	maxDigits, maxExponent = 64, 18
)

// ParseQuantity reads an amount of the resource name, from text that anybody may have written. It refuses one of which
// a computation would take all memory, and more devices than MostDevices.
func ParseQuantity(name, text string) (resource.Quantity, error) {
	if at := strings.IndexAny(text, "eE"); len(text) > maxDigits || at >= 0 && tooGreat(text[at+1:]) {
		return resource.Quantity{}, fmt.Errorf("%q is too long, or its exponent is beyond %d; write it as a plain number",
			clip(text), maxExponent)
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return resource.Quantity{}, fmt.Errorf("%q is not a quantity", text)
	}
	if (IsDevice(name) || IsProduct(name)) && q.CmpInt64(MostDevices) > 0 {
		return resource.Quantity{},
			fmt.Errorf("%q is more than the %d devices that a run may ask for; ask for what one run needs",
				text, MostDevices)
	}
	return q, nil
}

// tooGreat says whether the exponent is beyond maxExponent, on either side. "E" and "Ei" are units, and no exponents.
func tooGreat(exponent string) bool {
	n, err := strconv.Atoi(exponent)
	return errors.Is(err, strconv.ErrRange) || err == nil && (n > maxExponent || n < -maxExponent)
}

// clip shortens what is too long for a sentence.
func clip(text string) string {
	if len(text) > maxDigits {
		return text[:maxDigits] + "..."
	}
	return text
}

// Devices returns what of a is a device or a product: a run also asks for slots, which no node has.
func (a Amounts) Devices() Amounts {
	out := Amounts{}
	for name, n := range a {
		if n > 0 && (IsDevice(name) || IsProduct(name)) {
			out[name] = n
		}
	}
	return out
}

// String lists a in the order of names, as "4 nvidia.com/gpu and 1 nvidia.com/mig-1g.10gb".
func (a Amounts) String() string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		words = append(words, strconv.FormatInt(a[name], 10)+" "+name)
	}
	if len(words) == 0 {
		return "no devices"
	}
	return strings.Join(words, " and ")
}

func (a Amounts) add(b Amounts) {
	for name, n := range b {
		a[name] += n
	}
}

// less returns a - b, nowhere below zero, for the names of a.
func (a Amounts) less(b Amounts) Amounts {
	out := make(Amounts, len(a))
	for name, n := range a {
		out[name] = max(0, n-b[name])
	}
	return out
}

// times is how often b fits into a, at most most times.
func (a Amounts) times(b Amounts, most int64) int64 {
	for name, n := range b {
		if n > 0 {
			most = min(most, a[name]/n)
		}
	}
	return max(0, most)
}

// covers says whether b fits into a.
func (a Amounts) covers(b Amounts) bool {
	for name, n := range b {
		if n > a[name] {
			return false
		}
	}
	return true
}

// ofList returns the devices of a resource list.
func ofList(list corev1.ResourceList) Amounts {
	out := Amounts{}
	for name, q := range list {
		if n := q.Value(); n > 0 && IsDevice(string(name)) {
			out[string(name)] = n
		}
	}
	return out
}
