package loadgen

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"bflow.dev/bflow/tasks/loadgen/client"
	"bflow.dev/bflow/tasks/loadgen/prompt"
	"bflow.dev/bflow/tasks/loadgen/record"
	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/runplan"
)

// prepare finds out how to write prompts for the server, before any load. Its error is a server that cannot be
// reached; one that answers badly is load-tested all the same, because its errors are what there is to measure.
func (m *measurement) prepare(ctx context.Context) error {
	if _, err := m.pool.Warm(ctx, 1); err != nil {
		return err
	}
	style := &m.prompts.Style
	m.summary.PromptMethod = m.calibrate(ctx, style)
	if m.summary.PromptMethod == prompt.MethodAssumed {
		m.note("the server does not count tokens: prompts hold one word per token asked")
	}
	m.rehearse(ctx)
	set, err := runplan.Sum(struct {
		Data   runplan.Data
		Stages []runplan.Stage
		Method string
		Words  string
	}{m.plan.Data, m.plan.Stages, m.summary.PromptMethod, strings.Join(style.Words, " ")})
	if err != nil {
		return fmt.Errorf("naming the prompt set: %w", err)
	}
	m.summary.PromptSet = set
	return nil
}

// calibrate sets the style by the most exact method that the server offers, and names it.
func (m *measurement) calibrate(ctx context.Context, style *prompt.Style) string {
	if m.plan.API.Type == runplan.APICompletions && m.plan.Data.Turns <= 1 && m.takesIDs(ctx) {
		style.IDs = true
		return prompt.MethodTokenIDs
	}
	trial := *style
	if err := trial.Calibrate(ctx, m.countByTokenizer, true, prefixed(m.plan)); err == nil {
		*style = trial
		return prompt.MethodTokenize
	}
	trial = *style
	if err := trial.Calibrate(ctx, m.countByUsage, false, prefixed(m.plan)); err == nil {
		*style = trial
		return prompt.MethodCalibrated
	}
	return prompt.MethodAssumed
}

// errNoCount is an answer without a token count.
var errNoCount = errors.New("the server gives no token count")

// takesIDs says whether the server takes prompts of token ids and counts each as one token.
func (m *measurement) takesIDs(ctx context.Context) bool {
	n, err := m.usage(ctx, map[string]any{"prompt": []int{1001, 1002, 1003, 1004, 1005, 1006, 1007}})
	return err == nil && n == 7
}

// countByTokenizer counts with the server's /tokenize.
func (m *measurement) countByTokenizer(ctx context.Context, system, user string) (int, error) {
	body := m.content("messages", "prompt", system, user)
	body["model"] = m.whole.Deployment.Model.Name
	answer := struct {
		Count int `json:"count"`
	}{}
	if err := m.askJSON(ctx, m.Endpoint+"/tokenize", body, &answer); err != nil {
		return 0, err
	}
	if answer.Count <= 0 {
		return 0, errNoCount
	}
	return answer.Count, nil
}

// countByUsage counts with a request that asks for one token.
func (m *measurement) countByUsage(ctx context.Context, system, user string) (int, error) {
	field := m.prompts.Style.Field
	return m.usage(ctx, m.content(field, field, system, user))
}

// content is the field of a body that carries the texts: a list of messages, or one text.
func (m *measurement) content(list, text, system, user string) map[string]any {
	if !m.prompts.Style.Chat {
		return map[string]any{text: strings.TrimSpace(system + " " + user)}
	}
	messages := []map[string]string{{"role": "user", "content": user}}
	if system != "" {
		messages = append([]map[string]string{{"role": "system", "content": system}}, messages...)
	}
	return map[string]any{list: messages}
}

// usage returns the prompt tokens that the server counts for a request with one token of answer.
func (m *measurement) usage(ctx context.Context, content map[string]any) (int, error) {
	body := map[string]any{}
	maps.Copy(body, m.plan.API.Body)
	maps.Copy(body, content)
	body["model"] = m.whole.Deployment.Model.Name
	delete(body, "stream_options")
	if keys := m.prompts.Style.LengthKeys; len(keys) > 0 {
		body["stream"], body[keys[len(keys)-1]] = false, 1
	}
	answer := struct {
		Usage struct {
			PromptTokens int `json:"prompt_tokens"`
			InputTokens  int `json:"input_tokens"`
		} `json:"usage"`
	}{}
	if err := m.askJSON(ctx, m.Endpoint+m.plan.API.Path, body, &answer); err != nil {
		return 0, err
	}
	n := max(answer.Usage.PromptTokens, answer.Usage.InputTokens)
	if n <= 0 {
		return 0, errNoCount
	}
	return n, nil
}

func (m *measurement) askJSON(ctx context.Context, where string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encoding a probe: %w", err)
	}
	status, got, err := m.ask(ctx, http.MethodPost, where, bytes.NewReader(text))
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("asking %q: HTTP %d", where, status)
	}
	if err := json.Unmarshal(got, answer); err != nil {
		return fmt.Errorf("reading the answer of %q: %w", where, err)
	}
	return nil
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
	m.client.Do(ctx, &client.Request{ID: fmt.Sprintf("%s-%d-m%d-probe-%d", m.RunID, m.Attempt, m.Measurement, number), Body: p.Body}, o)
	return o
}
