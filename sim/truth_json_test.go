package sim

import (
	"encoding/json"
	"testing"
)

func TestRecordsAreWrittenAsEncodingJSONWritesThem(t *testing.T) {
	for _, r := range []Record{
		{Events: []int64{}, EventTokens: []int{}},
		{
			Number: 1, RequestID: "a-1", Conn: 2, Port: 40000, ConnReused: true, Path: "/v1/<x>", Model: "m\"é",
			Stream: true, Arrival: 3, ArrivalUnix: 4, ArrivalRead: 5,
			Started: 6, FirstByte: 7, End: 8, Events: []int64{9, 10}, EventTokens: []int{1, 2}, LatenessMax: -11,
			PromptTokens: 12, CachedTokens: 13,
			AskedTokens: 14, OutputTokens: 15, FinishReason: "stop", Status: StatusComplete, HTTPStatus: 200,
			Error: "a\nb", Faults: []string{"x", "y"}, BlockedWrites: 16,
		},
	} {
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(r.appendJSON(nil)); got != string(want)+"\n" {
			t.Errorf("got  %swant %s", got, want)
		}
	}
}
