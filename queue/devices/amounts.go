package devices

import (
	"encoding/json"
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
		q, err := resource.ParseQuantity(raw[name])
		if err != nil {
			return nil, fmt.Errorf("reading the request of %s: %q: %w", name, raw[name], err)
		}
		n, whole := q.AsInt64()
		if !whole || n < 0 {
			return nil, fmt.Errorf("reading the request of %s: %q is not a whole number of devices", name, raw[name])
		}
		out[name] = n
	}
	return out, nil
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

// holds says whether b fits into a.
func (a Amounts) holds(b Amounts) bool {
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
