package devices

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Shape is a number of pods that each ask for the same devices of one node.
type Shape struct {
	Count    int64
	Requests Amounts
}

func (s Shape) String() string {
	if s.Count == 1 {
		return "a pod with " + s.Requests.String()
	}
	return strconv.FormatInt(s.Count, 10) + " pods with " + s.Requests.String() + " each"
}

// ParsePods reads the JSON of annotation bflow.dev/pods, such as [{"count":2,"requests":{"nvidia.com/gpu":"4"}}].
func ParsePods(text string) ([]Shape, error) {
	var raw []struct {
		Count    int64             `json:"count"`
		Requests map[string]string `json:"requests"`
	}
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, fmt.Errorf("reading pods %q: %w", text, err)
	}
	var out []Shape
	for i, r := range raw {
		requests, err := parse(r.Requests)
		if err != nil {
			return nil, fmt.Errorf("reading pods, entry %d: %w", i, err)
		}
		if r.Count < 0 {
			return nil, fmt.Errorf("reading pods, entry %d: %d pods", i, r.Count)
		}
		if requests = requests.Devices(); r.Count > 0 && len(requests) > 0 {
			out = append(out, Shape{Count: r.Count, Requests: requests})
		}
	}
	return out, nil
}

// Shapes is what to think of a run that says how many devices it asks for and not how its pods share them: single
// devices, which fit wherever as many are free. A product that is asked for as often as a device goes with it.
func Shapes(requests Amounts) []Shape {
	requests = requests.Devices()
	var out []Shape
	paired := map[string]bool{}
	for _, name := range sorted(requests) {
		if IsProduct(name) {
			continue
		}
		one := Amounts{name: 1}
		for _, product := range sorted(requests) {
			if IsProduct(product) && !paired[product] && requests[product] == requests[name] {
				one[product], paired[product] = 1, true
				break
			}
		}
		out = append(out, Shape{Count: requests[name], Requests: one})
	}
	for _, product := range sorted(requests) {
		if IsProduct(product) && !paired[product] {
			out = append(out, Shape{Count: requests[product], Requests: Amounts{product: 1}})
		}
	}
	return out
}

// Share says whether pods of shapes take the devices of requests, all of them and no others.
func Share(shapes []Shape, requests Amounts) bool {
	left := requests.Devices()
	for _, s := range shapes {
		for name, n := range s.Requests.Devices() {
			if s.Count > left[name]/n { // their product might be more than a number holds
				return false
			}
			left[name] -= s.Count * n
		}
	}
	return len(left.Devices()) == 0
}

// Missing returns what of shapes is not yet held: the pods of a run that are still to come when the others hold held.
func Missing(shapes []Shape, held Amounts) []Shape {
	left := Amounts{}
	left.add(held)
	var out []Shape
	for _, s := range shapes {
		there := left.times(s.Requests, s.Count)
		for name, n := range s.Requests {
			left[name] -= there * n
		}
		if count := s.Count - there; count > 0 {
			out = append(out, Shape{Count: count, Requests: s.Requests})
		}
	}
	return out
}
