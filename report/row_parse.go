package report

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// rowParser reads rows as AppendJSON writes them, in a tenth of the time that encoding/json takes: runs of millions of
// requests are read several times by every export. What it does not know it leaves to encoding/json.
type rowParser struct {
	rest  []byte
	words map[string]string // texts of which there are few, so that each is in memory once
	cells *rowCells
}

// rowCells are the places that the pointers of one row lead to.
type rowCells struct {
	stamps [7]int64
	counts [10]int
	floats [4]float64
	ok     bool
}

// decode reads a row from a line.
func (p *rowParser) decode(line []byte, r *Row) error {
	if p.words == nil {
		p.words = map[string]string{}
	}
	p.rest, p.cells = line, &rowCells{}
	if p.object(r) {
		return nil
	}
	*r = Row{}
	return json.Unmarshal(line, r)
}

// object reads a row; false where it is not as AppendJSON writes one.
func (p *rowParser) object(r *Row) bool {
	for open := byte('{'); ; open = ',' {
		if !p.take(open) {
			return false
		}
		key, ok := p.raw()
		if !ok || !p.take(':') || !p.member(r, key) {
			return false
		}
		if len(p.rest) == 1 && p.rest[0] == '}' {
			return true
		}
	}
}

func (p *rowParser) take(c byte) bool {
	if len(p.rest) == 0 || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// member reads the value of a column into its field.
func (p *rowParser) member(r *Row, key []byte) bool {
	c := p.cells
	switch string(key) {
	case "id":
		return p.text(&r.ID)
	case "stage":
		return p.count(&r.Stage)
	case "sample":
		return p.count(&r.Sample)
	case "session":
		return p.count(&r.Session)
	case "turn":
		return p.count(&r.Turn)
	case "slot":
		return p.count(&r.Slot)
	case "phase":
		return p.word(&r.Phase)
	case "status":
		return p.word(&r.Status)
	case "error_class":
		return p.word(&r.ErrorClass)
	case "http_status":
		return p.count(&r.HTTPStatus)
	case "error":
		return p.text(&r.Error)
	case "t_intended_ns":
		return p.whole(&r.TIntended)
	case "t_send_ns":
		return p.stamp(&r.TSend, &c.stamps[0])
	case "t_sent_ns":
		return p.stamp(&r.TSent, &c.stamps[1])
	case "t_first_byte_ns":
		return p.stamp(&r.TFirstByte, &c.stamps[2])
	case "t_first_ns":
		return p.stamp(&r.TFirst, &c.stamps[3])
	case "t_content_ns":
		return p.stamp(&r.TContent, &c.stamps[4])
	case "t_last_ns":
		return p.stamp(&r.TLast, &c.stamps[5])
	case "t_end_ns":
		return p.stamp(&r.TEnd, &c.stamps[6])
	case "queue_wait_ns":
		return p.whole(&r.QueueWait)
	case "dial_ns":
		return p.whole(&r.Dial)
	case "client_lag_max_ns":
		return p.whole(&r.ClientLagMax)
	}
	return p.answer(r, key)
}

// answer reads the columns of tokens.
func (p *rowParser) answer(r *Row, key []byte) bool {
	c := p.cells
	switch string(key) {
	case "tokens_in_asked":
		return p.known(&r.TokensInAsked, &c.counts[0])
	case "tokens_in":
		return p.known(&r.TokensIn, &c.counts[1])
	case "tokens_cached":
		return p.known(&r.TokensCached, &c.counts[2])
	case "tokens_out_asked":
		return p.known(&r.TokensOutAsked, &c.counts[3])
	case "tokens_out":
		return p.known(&r.TokensOut, &c.counts[4])
	case "tokens_reasoning":
		return p.known(&r.TokensReasoning, &c.counts[5])
	case "tokens_hidden":
		return p.known(&r.TokensHidden, &c.counts[6])
	case "events":
		return p.known(&r.Events, &c.counts[7])
	case "prefix_bucket":
		return p.known(&r.PrefixBucket, &c.counts[8])
	case "prefix_index":
		return p.known(&r.PrefixIndex, &c.counts[9])
	}
	return p.connection(r, key)
}

// connection reads the columns of connection, objectives and gaps.
func (p *rowParser) connection(r *Row, key []byte) bool {
	c := p.cells
	switch string(key) {
	case "token_source":
		return p.word(&r.TokenSource)
	case "finish_reason":
		return p.word(&r.FinishReason)
	case "endpoint_pod":
		return p.word(&r.EndpointPod)
	case "adapter":
		return p.word(&r.Adapter)
	case "prompt_hash":
		return p.text(&r.PromptHash)
	case "bytes_out":
		return p.whole(&r.BytesOut)
	case "bytes_in":
		return p.whole(&r.BytesIn)
	case "conn":
		return p.count(&r.Conn)
	case "retries":
		return p.count(&r.Retries)
	case "conn_reused":
		return p.flag(&r.ConnReused)
	case "slo_ok":
		r.SLOOK = &c.ok
		return p.flag(&c.ok)
	case "slo_missed":
		return p.texts(&r.SLOMissed)
	case "itl_mean_ms":
		return p.real(&r.ITLMean, &c.floats[0])
	case "itl_p50_ms":
		return p.real(&r.ITLP50, &c.floats[1])
	case "itl_p99_ms":
		return p.real(&r.ITLP99, &c.floats[2])
	case "itl_max_ms":
		return p.real(&r.ITLMax, &c.floats[3])
	case "gaps_us":
		return p.gaps(&r.Gaps)
	}
	return false
}

// raw takes a text without escapes.
func (p *rowParser) raw() ([]byte, bool) {
	if !p.take('"') {
		return nil, false
	}
	end := bytes.IndexByte(p.rest, '"')
	if end < 0 {
		return nil, false
	}
	text := p.rest[:end]
	for _, c := range text {
		if c == '\\' || c < ' ' {
			return nil, false
		}
	}
	p.rest = p.rest[end+1:]
	return text, true
}

func (p *rowParser) text(to *string) bool {
	raw, ok := p.raw()
	if !ok || !utf8.Valid(raw) {
		return false
	}
	*to = string(raw)
	return true
}

// mostWords bounds what texts of which there should be few can take.
const mostWords = 1 << 10

func (p *rowParser) word(to *string) bool {
	raw, ok := p.raw()
	if !ok || !utf8.Valid(raw) {
		return false
	}
	word, known := p.words[string(raw)]
	if !known {
		word = string(raw)
		if len(p.words) < mostWords {
			p.words[word] = word
		}
	}
	*to = word
	return true
}

func (p *rowParser) texts(to *[]string) bool {
	for open := byte('['); ; open = ',' {
		var text string
		if !p.take(open) || !p.word(&text) {
			return false
		}
		if *to = append(*to, text); p.take(']') {
			return true
		}
	}
}

// maxDigits of a number surely fit an int64.
const maxDigits = 18

func (p *rowParser) whole(to *int64) bool {
	negative := p.take('-')
	n, x := 0, int64(0)
	for n < len(p.rest) && '0' <= p.rest[n] && p.rest[n] <= '9' {
		x = 10*x + int64(p.rest[n]-'0')
		n++
	}
	if n == 0 || n > maxDigits || n == len(p.rest) || n > 1 && p.rest[0] == '0' {
		return false
	}
	if end := p.rest[n]; end != ',' && end != '}' && end != ']' {
		return false
	}
	if negative {
		x = -x
	}
	*to, p.rest = x, p.rest[n:]
	return true
}

func (p *rowParser) count(to *int) bool {
	var x int64
	ok := p.whole(&x)
	*to = int(x)
	return ok && int64(*to) == x
}

func (p *rowParser) stamp(to **int64, cell *int64) bool {
	*to = cell
	return p.whole(cell)
}

func (p *rowParser) known(to **int, cell *int) bool {
	*to = cell
	return p.count(cell)
}

func (p *rowParser) flag(to *bool) bool {
	for _, v := range []bool{true, false} {
		if word := strconv.FormatBool(v); bytes.HasPrefix(p.rest, []byte(word)) {
			*to, p.rest = v, p.rest[len(word):]
			return true
		}
	}
	return false
}

func (p *rowParser) real(to **float64, cell *float64) bool {
	n := 0
	for n < len(p.rest) && (p.rest[n] >= '0' && p.rest[n] <= '9' || bytes.IndexByte([]byte("+-.eE"), p.rest[n]) >= 0) {
		n++
	}
	v, err := strconv.ParseFloat(string(p.rest[:n]), 64)
	*to, *cell, p.rest = cell, v, p.rest[n:]
	return err == nil
}

func (p *rowParser) gaps(to *[]int32) bool {
	for open := byte('['); ; open = ',' {
		var x int64
		if !p.take(open) || !p.whole(&x) || int64(int32(x)) != x {
			return false
		}
		if *to = append(*to, int32(x)); p.take(']') {
			return true
		}
	}
}
