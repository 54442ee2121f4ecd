package parquet

import (
	"unsafe"

	pq "github.com/parquet-go/parquet-go"

	"bflow.dev/bflow/report"
)

// column is one column of the file. Exactly one of the functions is set; each returns false for an absent value.
type column struct {
	name  string
	whole func(r *report.Row) (int64, bool)
	real  func(r *report.Row) (float64, bool)
	flag  func(r *report.Row) (bool, bool)
	text  func(r *report.Row) string // "" is absent
	word  func(r *report.Row) string // text that has few values
	texts func(r *report.Row) []string
	list  func(r *report.Row) []int32
}

// node is the type of the column: every one is optional.
func (c *column) node() pq.Node {
	switch {
	case c.whole != nil:
		return pq.Optional(pq.Int(64))
	case c.real != nil:
		return pq.Optional(pq.Leaf(pq.DoubleType))
	case c.flag != nil:
		return pq.Optional(pq.Leaf(pq.BooleanType))
	case c.text != nil:
		return pq.Optional(pq.String())
	case c.word != nil:
		return pq.Optional(pq.Encoded(pq.String(), &pq.RLEDictionary))
	case c.texts != nil:
		return pq.Optional(pq.List(pq.String()))
	}
	return pq.Optional(pq.List(pq.Int(32)))
}

// append appends the values of r in the column, which is number i of the file.
func (c *column) append(to pq.Row, r *report.Row, i int) pq.Row {
	one := func(v pq.Value, ok bool) pq.Row {
		if !ok {
			return append(to, pq.Value{}.Level(0, 0, i))
		}
		return append(to, v.Level(0, 1, i))
	}
	switch {
	case c.whole != nil:
		v, ok := c.whole(r)
		return one(pq.Int64Value(v), ok)
	case c.real != nil:
		v, ok := c.real(r)
		return one(pq.DoubleValue(v), ok)
	case c.flag != nil:
		v, ok := c.flag(r)
		return one(pq.BooleanValue(v), ok)
	case c.text != nil:
		v := c.text(r)
		return one(bytes(v), v != "")
	case c.word != nil:
		v := c.word(r)
		return one(bytes(v), v != "")
	}
	return c.appendList(to, r, i)
}

// bytes is a text as a value, which the writer copies.
func bytes(v string) pq.Value {
	return pq.ByteArrayValue(unsafe.Slice(unsafe.StringData(v), len(v)))
}

// appendList appends the elements of a list; an empty one is absent.
func (c *column) appendList(to pq.Row, r *report.Row, i int) pq.Row {
	start := len(to)
	element := func(v pq.Value) { to = append(to, v.Level(min(1, len(to)-start), 2, i)) }
	if c.texts != nil {
		for _, v := range c.texts(r) {
			element(bytes(v))
		}
	} else {
		for _, v := range c.list(r) {
			element(pq.Int32Value(v))
		}
	}
	if len(to) == start {
		to = append(to, pq.Value{}.Level(0, 0, i))
	}
	return to
}

func columns() []column {
	all := []column{
		text("id", func(r *report.Row) string { return r.ID }),
		word("phase", func(r *report.Row) string { return r.Phase }),
		word("status", func(r *report.Row) string { return r.Status }),
		word("error_class", func(r *report.Row) string { return r.ErrorClass }),
		text("error", func(r *report.Row) string { return r.Error }),
		word("token_source", func(r *report.Row) string { return r.TokenSource }),
		word("finish_reason", func(r *report.Row) string { return r.FinishReason }),
		word("endpoint_pod", func(r *report.Row) string { return r.EndpointPod }),
		word("adapter", func(r *report.Row) string { return r.Adapter }),
		text("prompt_hash", func(r *report.Row) string { return r.PromptHash }),
		{name: "conn_reused", flag: func(r *report.Row) (bool, bool) { return r.ConnReused, true }},
		{name: "slo_ok", flag: func(r *report.Row) (bool, bool) { return r.SLOOK != nil && *r.SLOOK, r.SLOOK != nil }},
		{name: "slo_missed", texts: func(r *report.Row) []string { return r.SLOMissed }},
		{name: "gaps_us", list: func(r *report.Row) []int32 { return r.Gaps }},
	}
	return append(append(all, numbers()...), derived()...)
}

func text(name string, f func(r *report.Row) string) column { return column{name: name, text: f} }
func word(name string, f func(r *report.Row) string) column { return column{name: name, word: f} }

func numbers() []column {
	always := func(name string, f func(r *report.Row) int64) column {
		return column{name: name, whole: func(r *report.Row) (int64, bool) { return f(r), true }}
	}
	positive := func(name string, f func(r *report.Row) int) column {
		return column{name: name, whole: func(r *report.Row) (int64, bool) { return int64(f(r)), f(r) != 0 }}
	}
	return []column{
		always("stage", func(r *report.Row) int64 { return int64(r.Stage) }),
		always("sample", func(r *report.Row) int64 { return int64(r.Sample) }),
		always("session", func(r *report.Row) int64 { return int64(r.Session) }),
		always("turn", func(r *report.Row) int64 { return int64(r.Turn) }),
		always("slot", func(r *report.Row) int64 { return int64(r.Slot) }),
		positive("http_status", func(r *report.Row) int { return r.HTTPStatus }),
		always("t_intended_ns", func(r *report.Row) int64 { return r.TIntended }),
		known("t_send_ns", func(r *report.Row) *int64 { return r.TSend }),
		known("t_sent_ns", func(r *report.Row) *int64 { return r.TSent }),
		known("t_first_byte_ns", func(r *report.Row) *int64 { return r.TFirstByte }),
		known("t_first_ns", func(r *report.Row) *int64 { return r.TFirst }),
		known("t_content_ns", func(r *report.Row) *int64 { return r.TContent }),
		known("t_last_ns", func(r *report.Row) *int64 { return r.TLast }),
		known("t_end_ns", func(r *report.Row) *int64 { return r.TEnd }),
		always("queue_wait_ns", func(r *report.Row) int64 { return r.QueueWait }),
		always("dial_ns", func(r *report.Row) int64 { return r.Dial }),
		always("client_lag_max_ns", func(r *report.Row) int64 { return r.ClientLagMax }),
		known("tokens_in_asked", func(r *report.Row) *int { return r.TokensInAsked }),
		known("tokens_in", func(r *report.Row) *int { return r.TokensIn }),
		known("tokens_cached", func(r *report.Row) *int { return r.TokensCached }),
		known("tokens_out_asked", func(r *report.Row) *int { return r.TokensOutAsked }),
		known("tokens_out", func(r *report.Row) *int { return r.TokensOut }),
		known("tokens_reasoning", func(r *report.Row) *int { return r.TokensReasoning }),
		known("tokens_hidden", func(r *report.Row) *int { return r.TokensHidden }),
		known("events", func(r *report.Row) *int { return r.Events }),
		always("bytes_out", func(r *report.Row) int64 { return r.BytesOut }),
		always("bytes_in", func(r *report.Row) int64 { return r.BytesIn }),
		always("conn", func(r *report.Row) int64 { return int64(r.Conn) }),
		always("retries", func(r *report.Row) int64 { return int64(r.Retries) }),
		known("prefix_bucket", func(r *report.Row) *int { return r.PrefixBucket }),
		known("prefix_index", func(r *report.Row) *int { return r.PrefixIndex }),
	}
}

// known is a number that may be absent.
func known[T int | int64](name string, f func(r *report.Row) *T) column {
	return column{name: name, whole: func(r *report.Row) (int64, bool) {
		if p := f(r); p != nil {
			return int64(*p), true
		}
		return 0, false
	}}
}
