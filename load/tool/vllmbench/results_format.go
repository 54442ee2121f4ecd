package vllmbench

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"bflow.dev/bflow/report/tools"
)

// result is one load value. Its members are in the order of their names, as they are written; a reader takes those that
// are marked as needed. Counts are numbers as JSON has them: releases differ in which they write as 1.0. Times of
// summaries are in ms.
type result struct {
	Backend      string   `json:"backend" need:"yes"`
	Burstiness   factor   `json:"burstiness"`
	Completed    *int     `json:"completed" need:"yes"`
	Date         string   `json:"date" need:"yes"`
	Duration     float64  `json:"duration" need:"yes"`
	Endpoint     string   `json:"endpoint_type" need:"yes"`
	ExportedBy   string   `json:"exported_by,omitempty"`
	Failed       *int     `json:"failed,omitempty" need:"yes"`
	Label        *string  `json:"label" need:"yes"`
	Concurrency  *float64 `json:"max_concurrency" need:"yes"`
	MostInFlight *int     `json:"max_concurrent_requests,omitempty"`
	BestSecond   *float64 `json:"max_output_tokens_per_s,omitempty"`
	Model        string   `json:"model_id" need:"yes"`
	Prompts      float64  `json:"num_prompts" need:"yes"`
	OutputRate   *float64 `json:"output_throughput,omitempty" need:"yes"`
	Goodput      *float64 `json:"request_goodput" need:"yes"`
	OldGoodput   *float64 `json:"request_goodput:,omitempty" need:"yes"` // as older releases spell it
	Rate         factor   `json:"request_rate"`
	Requests     *float64 `json:"request_throughput,omitempty" need:"yes"`
	TokenSource  *string  `json:"token_count_source,omitempty"`
	TokenEvents  string   `json:"token_events,omitempty"`
	Tokenizer    string   `json:"tokenizer_id"`
	Tool         *string  `json:"tool,omitempty"`
	Input        float64  `json:"total_input_tokens" need:"yes"`
	Output       float64  `json:"total_output_tokens" need:"yes"`
	TotalRate    *float64 `json:"total_token_throughput,omitempty" need:"yes"`

	lists

	Latencies map[string]float64 `json:"-" free:"yes"` // by latencyName
	Extras    tools.Free         `json:"-" free:"yes"` // of the person's own
}

// lists are those of a detailed result; element i of each is request i. Times are in s.
type lists struct {
	Errors     tools.Stream[*string]    `json:"errors,omitempty"`
	Texts      tools.Stream[*string]    `json:"generated_texts,omitempty"`
	InputLens  tools.Stream[*float64]   `json:"input_lens,omitempty"`
	ITLs       tools.Stream[[]*float64] `json:"itls,omitempty"`
	Latency    tools.Stream[*float64]   `json:"latencies,omitempty"`
	OutputLens tools.Stream[*float64]   `json:"output_lens,omitempty"`
	QueueTimes tools.Stream[*float64]   `json:"queue_times,omitempty"`
	StartTimes tools.Stream[*float64]   `json:"start_times,omitempty"`
	TTFTs      tools.Stream[*float64]   `json:"ttfts,omitempty"`
}

// factor is a number that may be infinite, which the tool writes as a text; 0 where it is absent or something else.
type factor float64

func (f factor) String() string {
	if math.IsInf(float64(f), 0) {
		return "inf"
	}
	return strconv.FormatFloat(float64(f), 'g', -1, 64)
}

// MarshalJSON writes a number, or "inf".
func (f factor) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(f), 0) {
		return []byte(`"inf"`), nil
	}
	return json.Marshal(float64(f))
}

// UnmarshalJSON reads a number, also one in a text.
func (f *factor) UnmarshalJSON(data []byte) error {
	v, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64)
	if err == nil && !math.IsNaN(v) {
		*f = factor(v)
	}
	return nil
}

// latencyName is the name of a member that holds a part of a latency: "mean", "std", "median" or "p99.9".
func latencyName(part, latency string) string { return part + "_" + latency + "_ms" }

// percentileName is the part that a percentile is.
func percentileName(p float64) string { return "p" + strconv.FormatFloat(p, 'g', -1, 64) }

// partOf returns the part of a latency that a member holds; false for a member of something else.
func partOf(member, latency string) (string, bool) {
	return strings.CutSuffix(member, "_"+latency+"_ms")
}

// read decodes a result and finds its latencies and its lists in the document.
func read(doc *tools.Document) (*result, error) {
	var r result
	if err := tools.Decode(*doc, &r); err != nil {
		return nil, err
	}
	var err error
	if r.Extras, err = tools.DecodeFree(*doc, r); err != nil {
		return nil, err
	}
	r.Latencies = map[string]float64{}
	for member, raw := range r.Extras {
		var v *float64
		if strings.HasSuffix(member, "_ms") && json.Unmarshal(raw, &v) == nil && v != nil {
			r.Latencies[member] = *v
			delete(r.Extras, member)
		}
	}
	r.lists = listsOf(doc)
	return &r, nil
}

// listsOf returns the lists that a document has; the others are nil.
func listsOf(doc *tools.Document) lists {
	return lists{Errors: listOf[*string](doc, "errors"), Texts: listOf[*string](doc, "generated_texts"),
		InputLens: listOf[*float64](doc, "input_lens"), ITLs: listOf[[]*float64](doc, "itls"),
		Latency: listOf[*float64](doc, "latencies"), OutputLens: listOf[*float64](doc, "output_lens"),
		QueueTimes: listOf[*float64](doc, "queue_times"), StartTimes: listOf[*float64](doc, "start_times"),
		TTFTs: listOf[*float64](doc, "ttfts")}
}

func listOf[T any](doc *tools.Document, name string) tools.Stream[T] {
	if doc.Len(name) == 0 {
		return nil
	}
	return tools.Elements[T](doc, name)
}
