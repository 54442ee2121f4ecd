package dataset

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// parseJSONL reads an object per line. The first line decides which columns are read.
func parseJSONL(r io.Reader, want columns, add func(row) error) error {
	var prompt, output string
	return lines(r, func(line []byte) error {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(line, &fields); err != nil {
			return fmt.Errorf("it is not a JSON object: %w", err)
		}
		if prompt == "" {
			var err error
			if prompt, output, err = want.find(slices.Sorted(maps.Keys(fields))); err != nil {
				return err
			}
		}
		found, err := object(fields, prompt, output)
		if err != nil {
			return err
		}
		return add(found)
	})
}

func object(fields map[string]json.RawMessage, prompt, output string) (row, error) {
	raw, ok := fields[prompt]
	if !ok {
		return row{}, fmt.Errorf("it has no %q, which the first line has", prompt)
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return row{}, fmt.Errorf("%q is not a text", prompt)
	}
	out, err := 0, error(nil)
	if raw = bytes.Trim(fields[output], `"`); len(raw) > 0 && string(raw) != "null" {
		if out, err = tokens(string(raw)); err != nil {
			return row{}, fmt.Errorf("%q: %w", output, err)
		}
	}
	return made(text, out)
}

// conversation is one of ShareGPT's.
type conversation struct {
	Conversations []struct {
		From  string `json:"from"`
		Value string `json:"value"`
	} `json:"conversations"`
}

// parseShareGPT reads a list of conversations, or one per line. Those without a question are rows without turns.
func parseShareGPT(r io.Reader, add func(row) error) error {
	b := &bounded{Reader: r, left: maxRecord}
	in := bufio.NewReader(b)
	if front, err := in.Peek(len(mark)); err == nil && string(front) == mark {
		_, _ = in.Discard(len(mark))
	}
	list, err := opens(in, '[')
	if err != nil {
		return err
	}
	dec := json.NewDecoder(in)
	if list {
		if _, err := dec.Token(); err != nil {
			return fmt.Errorf("it is not a list of conversations: %w", err)
		}
	}
	for n := 1; !list || dec.More(); n++ {
		b.endRecord()
		var c conversation
		if err := dec.Decode(&c); errors.Is(err, io.EOF) && !list {
			return nil
		} else if err != nil {
			return fmt.Errorf("conversation %d: %w", n, err)
		}
		if err := add(c.row()); errors.Is(err, errEnough) {
			return err
		} else if err != nil {
			return fmt.Errorf("conversation %d: %w", n, err)
		}
	}
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("the list of conversations has no end: %w", err)
	}
	return nil
}

// opens says whether the text begins with c, blanks aside.
func opens(in *bufio.Reader, c byte) (bool, error) {
	for {
		next, err := in.ReadByte()
		if err != nil {
			return false, fmt.Errorf("it is empty: %w", err)
		}
		if !bytes.ContainsRune([]byte(" \t\r\n"), rune(next)) {
			return next == c, in.UnreadByte()
		}
	}
}

// row returns the questions of a conversation and the answers that follow them.
func (c *conversation) row() row {
	var r row
	for _, said := range c.Conversations {
		switch said.From {
		case "human", "user":
			if said.Value != "" {
				r.turns = append(r.turns, turn{text: said.Value})
			}
		case "gpt", "assistant", "chatgpt", "bing", "bard", "model":
			if n := len(r.turns); n > 0 && r.turns[n-1].answer == "" {
				r.turns[n-1].answer = said.Value
			}
		}
	}
	return r
}
