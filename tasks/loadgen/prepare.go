package loadgen

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/tasks/loadgen/client"
	"bflow.dev/bflow/tasks/loadgen/prompt"
	"bflow.dev/bflow/tasks/loadgen/record"
)

// prepare finds out how to write prompts for the server, before any load. Its error is a server that cannot be
// reached; one that answers badly is load-tested all the same, because its errors are what there is to measure.
func (m *measurement) prepare(ctx context.Context) error {
	if err := m.warmUp(ctx, 1); err != nil {
		return err
	}
	if err := m.openContent(ctx); err != nil {
		return err
	}
	defer collectEarly()() // answers to probes can be as long as any
	c := m.prompts.Calibrate(ctx, prompt.Counters{
		IDs: m.probes.countIDs, Tokenizer: m.probes.countByTokenizer, Usage: m.probes.countByUsage,
	})
	m.summary.PromptMethod = c.Method
	for _, note := range c.Notes {
		m.note("%s", note)
	}
	if c.Method == prompt.MethodAssumed {
		m.note("the server does not count tokens: prompts hold one word per token asked")
	}
	m.rehearse(ctx)
	m.prompts.Prepare()
	m.probes.hangUp()
	var stages []prompt.Stage
	for i, planned := range m.plan.Stages {
		stages = append(stages, m.prompts.Stage(m.Measurement, 0, i, planned))
	}
	m.summary.PromptSet = m.prompts.Sum(stages)
	return nil
}

// countIDs counts a prompt of token ids with a request that asks for one token.
func (p *prober) countIDs(ctx context.Context, ids []int) (int, error) {
	body, err := p.m.prompts.Style.ProbeIDs(ids)
	if err != nil {
		return 0, err
	}
	return p.usage(ctx, body)
}

// countByTokenizer counts with the server's /tokenize.
func (p *prober) countByTokenizer(ctx context.Context, system, user string) (int, error) {
	body, err := p.m.prompts.Style.Tokenize(system, user)
	if err != nil {
		return 0, err
	}
	answer, err := p.probe(ctx, p.m.base()+"/tokenize", body)
	if err != nil {
		return 0, err
	}
	return prompt.CountOf(answer)
}

// countByUsage counts with a request that asks for one token.
func (p *prober) countByUsage(ctx context.Context, system, user string) (int, error) {
	body, err := p.m.prompts.Style.Probe(system, user)
	if err != nil {
		return 0, err
	}
	return p.usage(ctx, body)
}

// usage returns the prompt tokens that the server counts for a request.
func (p *prober) usage(ctx context.Context, body []byte) (int, error) {
	api := p.m.plan.API
	api.Stream = false
	answer, err := p.probe(ctx, p.m.base()+client.Path(api, p.m.whole.Deployment.Model.Name), body)
	if err != nil {
		return 0, err
	}
	return prompt.UsageOf(answer)
}

// probe returns the body of a good answer to a request outside the load.
func (p *prober) probe(ctx context.Context, where string, text []byte) ([]byte, error) {
	status, answer, err := p.ask(ctx, http.MethodPost, where, bytes.NewReader(text))
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("asking %q: HTTP %d", where, status)
	}
	return answer, err
}

// rehearse puts a prompt like those of the load, asking for one token, until the server takes it: first as planned,
// then without the fields that not every server knows.
func (m *measurement) rehearse(ctx context.Context) {
	style := &m.prompts.Style
	planned := *style
	for i, try := range variants(planned) {
		*style = try.style
		o := m.rehearsal(ctx, i)
		if o.Class == report.ErrHTTP4xx {
			continue
		}
		if i > 0 {
			m.note("the server refuses %s: requests go without", try.without)
		}
		return
	}
	*style = planned
}

type variant struct {
	style   prompt.Style
	without string
}

// variants are the ways to write the length of an answer, the best first.
func variants(planned prompt.Style) []variant {
	keys := [][]string{planned.LengthKeys}
	if len(planned.LengthKeys) > 1 {
		keys = append(keys, planned.LengthKeys[:1], planned.LengthKeys[1:])
	}
	var out []variant
	for _, k := range keys {
		v := variant{style: planned}
		v.style.LengthKeys = k
		var without []string
		for _, key := range planned.LengthKeys {
			if !slices.Contains(k, key) {
				without = append(without, key)
			}
		}
		v.without = strings.Join(without, " and ")
		out = append(out, v)
		if planned.Exact {
			v.style.Exact = false
			v.without = strings.Join(append(without, "ignore_eos and min_tokens"), " and ")
			out = append(out, v)
		}
	}
	return out
}

func (m *measurement) rehearsal(ctx context.Context, number int) *record.Outcome {
	p := m.prompts.Rehearsal(number)
	o := new(record.Outcome)
	o.Reset()
	o.Session = int64(number)
	m.put(ctx, &m.api, p.Body, m.RunID+"-probe", o)
	return o
}
