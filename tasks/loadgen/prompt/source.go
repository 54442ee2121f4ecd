package prompt

import (
	"errors"

	"bflow.dev/bflow/runplan"
)

// Source makes the prompts of a measurement. Prepare comes before the load; after it one goroutine may use the source.
type Source struct {
	Data  runplan.Data
	Style Style
	Rows  Rows // turns of a file or a trace; nil = all is drawn

	stages             []runplan.Stage
	layout             layout
	corpus             corpus
	made               corpusKey
	between            byte // two words
	images             []image
	adapters, priority []float64 // weights
	ready              bool
	free               []*Session
}

// corpusKey says what a corpus was made of.
type corpusKey struct {
	ids   bool
	words int
	first *string
}

// NewSource returns the source for a measurement against the model of that name.
func NewSource(model string, m *runplan.Measurement) (*Source, error) {
	if m.Data.Images != nil && m.API.Type != runplan.APIChat {
		return nil, errors.New("load.data.images needs load.api.type chat")
	}
	style, err := NewStyle(model, m.API)
	if err != nil {
		return nil, err
	}
	return &Source{Data: m.Data, Style: style, stages: m.Stages}, nil
}

// Prepare makes everything that does not change from request to request. It must be called again when Style has
// changed.
func (s *Source) Prepare() {
	s.layout, s.ready = s.Style.layout(), true
	s.between = ' '
	if s.Style.IDs {
		s.between = ','
	}
	if key := (corpusKey{s.Style.IDs, len(s.Style.Words), &s.Style.Words[0]}); key != s.made {
		s.corpus, s.made = makeCorpus(s.Data.Seed, s.Style.Words, s.Style.IDs, s.longest()), key
	}
	if s.Data.Images != nil && s.images == nil {
		s.images = makeImages(s.Data.Seed, *s.Data.Images)
	}
	s.adapters, s.priority = nil, nil
	for _, a := range s.Style.api.Adapters {
		s.adapters = append(s.adapters, a.Weight)
	}
	for _, p := range s.Style.api.Priorities[:s.Style.priorities()] {
		s.priority = append(s.priority, p.Weight)
	}
}

// longest returns the tokens of the longest text that is likely to be asked for.
func (s *Source) longest() int {
	n := max(longest(s.Data.Input), longest(s.Data.FirstInput))
	for _, p := range s.prefixes() {
		n = max(n, p.Tokens)
	}
	return n
}

// prefixes returns the buckets of all stages.
func (s *Source) prefixes() []runplan.Prefix {
	out := s.Data.Prefixes[:len(s.Data.Prefixes):len(s.Data.Prefixes)]
	for _, st := range s.stages {
		out = append(out, st.Prefixes...)
	}
	return out
}

// Messages says whether turns may be given as lists of messages: the API takes such lists.
func (s *Source) Messages() bool { return s.Style.Chat }

// Stage names a stage for drawing: stages that share a Key get the same prompts.
type Stage struct {
	Key      uint64
	Prefixes []runplan.Prefix
}

// Stage returns the stage of a sample; without fresh content every stage has the same key.
func (s *Source) Stage(measurement, sample, stage int, plan runplan.Stage) Stage {
	st := Stage{Prefixes: s.Data.Prefixes}
	if plan.Prefixes != nil {
		st.Prefixes = plan.Prefixes
	}
	if s.Data.FreshPerStage {
		st.Key = mix(uint64(measurement)<<40 | uint64(sample)<<20 | uint64(stage) + 1)
	}
	return st
}

// Session returns conversation index of a stage; false when the plan has no conversation of that number.
func (s *Source) Session(st Stage, index int64) (*Session, bool) {
	content, ok := s.content(index)
	if !ok {
		return nil, false
	}
	if !s.ready {
		s.Prepare()
	}
	c := s.empty()
	c.begin(s, st, index, content)
	return c, true
}

// empty returns a conversation that nobody uses.
func (s *Source) empty() *Session {
	n := len(s.free)
	if n == 0 {
		return new(Session)
	}
	c := s.free[n-1]
	s.free = s.free[:n-1]
	return c
}

// content returns which prompts conversation index has; false when the plan has no such conversation.
func (s *Source) content(index int64) (int64, bool) {
	if n := int64(s.Data.Conversations); n > 0 && index >= n {
		if !s.Data.Reuse {
			return 0, false
		}
		index %= n
	}
	if s.Rows != nil {
		if _, ok := s.Rows.Turn(index, 0); !ok {
			return 0, false
		}
	}
	return index, true
}

// Recycle takes a conversation back that nobody uses any more; Session gives it out again.
func (s *Source) Recycle(c *Session) { s.free = append(s.free, c) }
