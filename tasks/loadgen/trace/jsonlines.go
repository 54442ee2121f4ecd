package trace

import (
	"encoding/json"
	"errors"
	"fmt"

	"bflow.dev/bflow/tasks/loadgen/jsonscan"
)

// jsonLines reads traces of one JSON object per line: timestamp, input_length, output_length, hash_ids, session_id,
// delay, duration, and text_input or messages, whose text takes the place of a length. Other keys are passed over.
type jsonLines struct {
	unit int  // of the times: they are in 10^unit ns
	flat bool // every row is a session of its own, and shares no blocks: all that trace_synthetic means
}

func (p *jsonLines) parse(line []byte, r *row) (bool, error) {
	c := jsonscan.At(line)
	if !c.Object() {
		return false, errors.New("it is not a JSON object")
	}
	for key, ok := c.Key(); ok; key, ok = c.Key() {
		value := c.Raw()
		if value == nil {
			break
		}
		if jsonscan.IsNull(value) {
			continue
		}
		if err := p.member(key, value, r); err != nil {
			return false, err
		}
	}
	if c.Err() != nil {
		return false, errors.New("it is not a JSON object")
	}
	return true, nil
}

func (p *jsonLines) member(key, value []byte, r *row) (err error) {
	switch string(key) {
	case "timestamp":
		r.at, err = number(key, value, p.unit)
	case "delay":
		r.delay, err = number(key, value, p.unit)
	case "duration":
		r.duration, err = number(key, value, p.unit)
	case "input_length":
		r.in, err = number(key, value, 0)
	case "output_length":
		r.out, err = number(key, value, 0)
	case "session_id":
		if !p.flat {
			r.session = value
		}
	case "hash_ids":
		if !p.flat {
			r.blocks, err = hashes(value, r.blocks)
		}
	case "text_input":
		r.entry = entryPrompt
		r.text, err = text(key, value)
	case "messages":
		r.entry, r.text = entryMessages, value
		if value[0] != '[' || !json.Valid(value) {
			err = errors.New("messages is not a JSON array")
		}
	case "payload", "tools", "extra":
		err = fmt.Errorf("%s cannot be replayed: run the tool that it was recorded for", key)
	}
	return err
}

// number reads a number that is not negative, in units of 10^-exponent of the result.
func number(key, value []byte, exponent int) (int64, error) {
	n, ok := decimal(value, exponent)
	if !ok {
		return 0, fmt.Errorf("%s %.40q is not a number from 0 to 292 years", key, value)
	}
	return n, nil
}

func hashes(value []byte, into []uint64) ([]uint64, error) {
	c := jsonscan.At(value)
	if value[0] != '[' || !c.Array() {
		return into, errors.New("hash_ids is not an array")
	}
	for c.More() {
		raw := c.Raw()
		id, ok := unsigned(raw)
		if !ok {
			return into, fmt.Errorf("hash id %.40q is not an integer from 0 on", raw)
		}
		into = append(into, id)
	}
	return into, nil
}

func text(key, value []byte) ([]byte, error) {
	var s string
	if err := json.Unmarshal(value, &s); err != nil {
		return nil, fmt.Errorf("%s is not a string", key)
	}
	if s == "" {
		return nil, fmt.Errorf("%s is empty", key)
	}
	return []byte(s), nil
}
