package record

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"bflow.dev/bflow/internal/durable"
)

// FileTexts holds prompts and answers of the first requests of each stage, in measurements/<n>/, where the plan asks
// for them.
const FileTexts = "texts.jsonl"

// Text is one line of FileTexts.
type Text struct {
	ID      string          `json:"id"`
	Sample  int             `json:"sample"`
	Stage   int             `json:"stage"`
	Status  string          `json:"status"`
	Request json.RawMessage `json:"request"` // the body as it was sent
	Answer  string          `json:"answer"`  // the content of the answer
	Error   string          `json:"error,omitempty"`
}

// Texts writes FileTexts. It holds no header of a request, and what clean takes out of a text never reaches the disk.
// It is not safe for concurrent use.
type Texts struct {
	path  string
	f     *os.File
	buf   *bufio.Writer
	clean func(string) string
	each  int // of a stage
	left  int // of the stage at hand
	names Names
	at    Text // sample and stage
	err   error
}

// CreateTexts starts the file at path for the first n requests of each stage. clean takes secrets out of a text.
func CreateTexts(path string, n int, clean func(string) string) (*Texts, error) {
	f, err := durable.CreateGrowing(path)
	if err != nil {
		return nil, fmt.Errorf("creating texts: %w", err)
	}
	return &Texts{path: path, f: f, buf: bufio.NewWriter(f), each: n, clean: clean}, nil
}

// Begin begins a stage.
func (t *Texts) Begin(names Names, sample, stage int) {
	if t != nil {
		t.left, t.names, t.at = t.each, names, Text{Sample: sample, Stage: stage}
	}
}

// Take says whether the request that is about to be sent is one of those whose texts are kept: then its answer is to be
// kept in Outcome.Text, its body until it ends, and both given to Add. It takes a nanosecond for all others, and for a
// nil t.
func (t *Texts) Take() bool {
	if t == nil || t.left <= 0 {
		return false
	}
	t.left--
	return true
}

// Add writes the texts of a request that has ended. Its first error is kept and returned by Close.
func (t *Texts) Add(o *Outcome, body []byte) {
	line := t.at
	line.ID, line.Status, line.Error = string(o.AppendID(nil, t.names.Prefix)), o.Status, t.clean(o.Error)
	line.Answer = t.clean(string(o.Text))
	line.Request = json.RawMessage(t.clean(string(body)))
	if !json.Valid(line.Request) {
		line.Request, _ = json.Marshal(string(line.Request)) // a text can always be encoded
	}
	text, err := json.Marshal(line)
	if err == nil {
		_, err = t.buf.Write(append(text, '\n'))
	}
	if err != nil && t.err == nil {
		t.err = err
	}
}

// Close ends the file.
func (t *Texts) Close() error {
	if t == nil {
		return nil
	}
	if err := errors.Join(t.err, t.buf.Flush(), t.f.Close()); err != nil {
		return fmt.Errorf("writing %q: %w", t.path, err)
	}
	return nil
}
