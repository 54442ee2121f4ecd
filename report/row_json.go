package report

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends r as encoding/json writes it, without a line feed. It takes a tenth of the time: rows are written
// by the hundred thousand between the last answer and the exit of load-gen. A column belongs here and into Row; a test
// compares the two.
func (r *Row) AppendJSON(b []byte) []byte {
	b = appendText(append(b, `{"id":`...), r.ID)
	b = appendInt(b, `,"stage":`, int64(r.Stage))
	b = appendInt(b, `,"sample":`, int64(r.Sample))
	b = appendInt(b, `,"session":`, int64(r.Session))
	b = appendInt(b, `,"turn":`, int64(r.Turn))
	b = appendInt(b, `,"slot":`, int64(r.Slot))
	b = appendText(append(b, `,"phase":`...), r.Phase)
	b = appendText(append(b, `,"status":`...), r.Status)
	b = appendWord(b, `,"error_class":`, r.ErrorClass)
	if r.HTTPStatus != 0 {
		b = appendInt(b, `,"http_status":`, int64(r.HTTPStatus))
	}
	b = appendWord(b, `,"error":`, r.Error)
	b = r.appendStamps(b)
	b = r.appendTokens(b)
	b = appendWord(b, `,"finish_reason":`, r.FinishReason)
	b = appendWord(b, `,"endpoint_pod":`, r.EndpointPod)
	b = appendInt(b, `,"bytes_out":`, r.BytesOut)
	b = appendInt(b, `,"bytes_in":`, r.BytesIn)
	b = appendInt(b, `,"conn":`, int64(r.Conn))
	b = strconv.AppendBool(append(b, `,"conn_reused":`...), r.ConnReused)
	if r.Retries != 0 {
		b = appendInt(b, `,"retries":`, int64(r.Retries))
	}
	b = appendWord(b, `,"adapter":`, r.Adapter)
	b = appendCount(b, `,"prefix_bucket":`, r.PrefixBucket)
	b = appendCount(b, `,"prefix_index":`, r.PrefixIndex)
	b = appendWord(b, `,"prompt_hash":`, r.PromptHash)
	b = r.appendObjectives(b)
	b = appendFloat(b, `,"itl_mean_ms":`, r.ITLMean)
	b = appendFloat(b, `,"itl_p50_ms":`, r.ITLP50)
	b = appendFloat(b, `,"itl_p99_ms":`, r.ITLP99)
	b = appendFloat(b, `,"itl_max_ms":`, r.ITLMax)
	return append(appendGaps(b, r.Gaps), '}')
}

func (r *Row) appendStamps(b []byte) []byte {
	b = appendInt(b, `,"t_intended_ns":`, r.TIntended)
	b = appendStamp(b, `,"t_send_ns":`, r.TSend)
	b = appendStamp(b, `,"t_sent_ns":`, r.TSent)
	b = appendStamp(b, `,"t_first_byte_ns":`, r.TFirstByte)
	b = appendStamp(b, `,"t_first_ns":`, r.TFirst)
	b = appendStamp(b, `,"t_content_ns":`, r.TContent)
	b = appendStamp(b, `,"t_last_ns":`, r.TLast)
	b = appendStamp(b, `,"t_end_ns":`, r.TEnd)
	b = appendInt(b, `,"queue_wait_ns":`, r.QueueWait)
	b = appendInt(b, `,"dial_ns":`, r.Dial)
	return appendInt(b, `,"client_lag_max_ns":`, r.ClientLagMax)
}

func (r *Row) appendTokens(b []byte) []byte {
	b = appendCount(b, `,"tokens_in_asked":`, r.TokensInAsked)
	b = appendCount(b, `,"tokens_in":`, r.TokensIn)
	b = appendCount(b, `,"tokens_cached":`, r.TokensCached)
	b = appendCount(b, `,"tokens_out_asked":`, r.TokensOutAsked)
	b = appendCount(b, `,"tokens_out":`, r.TokensOut)
	b = appendCount(b, `,"tokens_reasoning":`, r.TokensReasoning)
	b = appendCount(b, `,"tokens_hidden":`, r.TokensHidden)
	b = appendCount(b, `,"events":`, r.Events)
	return appendWord(b, `,"token_source":`, r.TokenSource)
}

func (r *Row) appendObjectives(b []byte) []byte {
	if r.SLOOK != nil {
		b = strconv.AppendBool(append(b, `,"slo_ok":`...), *r.SLOOK)
	}
	for i, missed := range r.SLOMissed {
		if i == 0 {
			b = append(b, `,"slo_missed":[`...)
		} else {
			b = append(b, ',')
		}
		b = appendText(b, missed)
	}
	if len(r.SLOMissed) > 0 {
		b = append(b, ']')
	}
	return b
}

func appendGaps(b []byte, gaps []int32) []byte {
	if len(gaps) == 0 {
		return b
	}
	b = append(b, `,"gaps_us":`...)
	for i, g := range gaps {
		separator := byte(',')
		if i == 0 {
			separator = '['
		}
		b = strconv.AppendInt(append(b, separator), int64(g), 10)
	}
	return append(b, ']')
}

func appendInt(b []byte, key string, x int64) []byte {
	return strconv.AppendInt(append(b, key...), x, 10)
}

func appendStamp(b []byte, key string, x *int64) []byte {
	if x == nil {
		return b
	}
	return appendInt(b, key, *x)
}

func appendCount(b []byte, key string, x *int) []byte {
	if x == nil {
		return b
	}
	return appendInt(b, key, int64(*x))
}

func appendWord(b []byte, key, text string) []byte {
	if text == "" {
		return b
	}
	return appendText(append(b, key...), text)
}

// appendText appends a JSON string.
func appendText(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' || c >= utf8.RuneSelf {
			quoted, _ := json.Marshal(text) // a text can always be encoded
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}

// appendFloat appends a number, nothing where it is absent or none.
func appendFloat(b []byte, key string, x *float64) []byte {
	if x == nil || math.IsNaN(*x) || math.IsInf(*x, 0) {
		return b
	}
	b = append(b, key...)
	// Most are whole microseconds or nanoseconds in ms: at most 15 digits, which no other number of 15 digits equals.
	if scaled := math.Round(*x * 1e6); scaled >= 0 && scaled < 1e15 && scaled/1e6 == *x {
		return appendMillionths(b, uint64(scaled))
	}
	text, _ := json.Marshal(*x)
	return append(b, text...)
}

// appendMillionths appends n / 1e6 without trailing zeros; encoding/json writes what is below 1e-6 another way, which
// is none of these.
func appendMillionths(b []byte, n uint64) []byte {
	b = strconv.AppendUint(b, n/1e6, 10)
	rest := n % 1e6
	if rest == 0 {
		return b
	}
	b = append(b, '.')
	for place := uint64(1e5); rest > 0; place /= 10 {
		b = append(b, byte('0'+rest/place))
		rest %= place
	}
	return b
}
