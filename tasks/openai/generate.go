package openai

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"

	"bflow.dev/bflow/internal/bounded"
)

// Ask is one small generation.
type Ask struct {
	Path   string // /v1/completions or /v1/chat/completions
	Model  string
	Prompt string
	Tokens int // length asked for
	Exact  bool
	Stream bool
	Body   map[string]any // merged last
}

// Answer is what came back.
type Answer struct {
	Text         string
	Events       int  // streamed events that carried a token
	Usage        bool // the server counted
	PromptTokens int
	OutputTokens int
	Done         bool // the terminator was read
	FinishReason string

	text []byte // Text, while it grows
}

// Chat reports whether path takes messages.
func Chat(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	return strings.HasSuffix(path, "/chat/completions")
}

// Generate puts ask to the server and reads the whole answer.
func (c *Client) Generate(ctx context.Context, ask Ask) (Answer, error) {
	resp, err := c.do(ctx, http.MethodPost, ask.Path, ask.body())
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	if ask.Stream {
		return c.readStream(bounded.Reader(resp.Body, maxAnswer), ask)
	}
	data, err := bounded.ReadAll(resp.Body, maxAnswer)
	if err != nil {
		return Answer{}, fmt.Errorf("reading the answer of POST %s: %w", c.shown(ask.Path), err)
	}
	var answer Answer
	if err := answer.add(data); err != nil {
		return Answer{}, fmt.Errorf("reading the answer of POST %s: %w: %s", c.shown(ask.Path), err, c.excerpt(data))
	}
	answer.Done, answer.Text = true, string(c.redact(answer.text))
	return answer, nil
}

func (a Ask) body() map[string]any {
	body := map[string]any{"model": a.Model, "max_tokens": a.Tokens, "temperature": 0, "stream": a.Stream}
	if Chat(a.Path) {
		body["messages"] = []any{map[string]any{"role": "user", "content": a.Prompt}}
	} else {
		body["prompt"] = a.Prompt
	}
	if a.Stream {
		body["stream_options"] = map[string]any{"include_usage": true}
	}
	if a.Exact {
		body["ignore_eos"], body["min_tokens"] = true, a.Tokens
	}
	maps.Copy(body, a.Body)
	return body
}

// readStream reads events to their end: an event is a block of lines, and its data may be on several of them.
func (c *Client) readStream(r io.Reader, ask Ask) (answer Answer, err error) {
	defer func() { answer.Text = string(c.redact(answer.text)) }()
	var data []string
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxAnswer)
	for more := true; more; {
		more = lines.Scan()
		if value, ok := strings.CutPrefix(lines.Text(), "data:"); ok {
			data = append(data, value)
			continue
		}
		if lines.Text() != "" || len(data) == 0 { // another field or a comment
			continue
		}
		if err := answer.event(strings.TrimSpace(strings.Join(data, "\n"))); err != nil {
			return answer,
				fmt.Errorf("reading the stream of POST %s: %w: %s", c.shown(ask.Path), err, c.excerpt([]byte(data[0])))
		}
		data = nil
	}
	if err := lines.Err(); err != nil {
		return answer, fmt.Errorf("reading the stream of POST %s: %w", c.shown(ask.Path), err)
	}
	return answer, nil
}

func (a *Answer) event(data string) error {
	if data == "[DONE]" {
		a.Done = true
		return nil
	}
	return a.add([]byte(data))
}

// add takes in one chunk or a whole answer: both have choices and usage.
func (a *Answer) add(data []byte) error {
	var chunk struct {
		Error   any `json:"error"`
		Choices []struct {
			Text    string `json:"text"`
			Delta   part   `json:"delta"`
			Message part   `json:"message"`
			Finish  string `json:"finish_reason"`
		} `json:"choices"`
		Usage *struct {
			Prompt int `json:"prompt_tokens"`
			Output int `json:"completion_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(data, &chunk); err != nil {
		return fmt.Errorf("not JSON")
	}
	if chunk.Error != nil {
		return fmt.Errorf("the server reports an error inside a 200 answer")
	}
	for _, choice := range chunk.Choices {
		text := choice.Text + choice.Delta.text() + choice.Message.text()
		if text != "" {
			a.Events++
		}
		a.text = append(a.text, text...)
		if choice.Finish != "" {
			a.FinishReason = choice.Finish
		}
	}
	if chunk.Usage != nil {
		a.Usage, a.PromptTokens, a.OutputTokens = true, chunk.Usage.Prompt, chunk.Usage.Output
	}
	return nil
}

type part struct {
	Content          string `json:"content"`
	Reasoning        string `json:"reasoning"`
	ReasoningContent string `json:"reasoning_content"`
}

func (p part) text() string { return p.Content + p.Reasoning + p.ReasoningContent }
