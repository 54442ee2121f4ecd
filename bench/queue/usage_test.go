package main

import "testing"

func TestTheUsageOfAControllerIsItsMemoryAndAllItsRequests(t *testing.T) {
	u, err := parseUsage([]byte(`# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes 1.5e+08
# TYPE rest_client_requests_total counter
rest_client_requests_total{code="200",host="hub",method="GET"} 7
rest_client_requests_total{code="200",host="worker",method="PATCH"} 5
`))
	if err != nil || u != (usage{memory: 1.5e8, calls: 12}) {
		t.Errorf("got %+v, %v", u, err)
	}
}

func TestMetricsWithoutTheUsageAreNotTakenForNone(t *testing.T) {
	for _, text := range []string{"",
		"# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes 1\n", "]"} {
		if u, err := parseUsage([]byte(text)); err == nil {
			t.Errorf("%q is %+v", text, u)
		}
	}
}
