package client

import "testing"

func TestTypedEvents(t *testing.T) {
	tests := []struct {
		name    string
		parse   func([]byte, *delta) error
		data    string
		want    said
		failure string
		bad     bool
	}{
		{name: "responses: the start is no token",
			parse: parseResponses, data: `{"type":"response.created","response":{"status":"in_progress","usage":null}}`,
			want: said{in: -1, out: -1, add: -1}},
		{name: "responses: text",
			parse: parseResponses, data: `{"type":"response.output_text.delta","item_id":"x","delta":"a"}`,
			want: said{class: content, text: "a", in: -1, out: -1, add: -1}},
		{name: "responses: the type may come last",
			parse: parseResponses, data: `{"delta":"a","type":"response.output_text.delta"}`,
			want: said{class: content, text: "a", in: -1, out: -1, add: -1}},
		{name: "responses: an empty delta is no token", parse: parseResponses,
			data: `{"type":"response.output_text.delta","delta":""}`, want: said{in: -1, out: -1, add: -1}},
		{name: "responses: reasoning",
			parse: parseResponses, data: `{"type":"response.reasoning_text.delta","delta":"a"}`,
			want: said{class: reasoning, in: -1, out: -1, add: -1}},
		{name: "responses: the summary of a reasoning",
			parse: parseResponses, data: `{"type":"response.reasoning_summary_text.delta","delta":"a"}`,
			want: said{class: reasoning, in: -1, out: -1, add: -1}},
		{name: "responses: arguments of a tool",
			parse: parseResponses, data: `{"type":"response.function_call_arguments.delta","delta":"{"}`,
			want: said{class: tool, in: -1, out: -1, add: -1}},
		{name: "responses: the whole arguments came before", parse: parseResponses,
			data: `{"type":"response.function_call_arguments.done","arguments":"{}"}`,
			want: said{in: -1, out: -1, add: -1}},
		{name: "responses: a tool begins with its name", parse: parseResponses,
			data: `{"type":"response.output_item.added","item":{"type":"function_call","name":"f","arguments":""}}`,
			want: said{class: tool, in: -1, out: -1, add: -1}},
		{name: "responses: a message that begins is no token", parse: parseResponses,
			data: `{"type":"response.output_item.added","item":{"type":"message","role":"assistant","content":[]}}`,
			want: said{in: -1, out: -1, add: -1}},
		{name: "responses: the end has the usage and repeats the text", parse: parseResponses,
			data: `{"type":"response.completed","response":{"status":"completed","error":null,` +
				`"output":[{"content":[{"text":"ab"}]}],"usage":{"input_tokens":9,"output_tokens":3}}}`,
			want: said{finish: "completed", in: 9, out: 3, add: -1, done: true}},
		{name: "responses: an end by length", parse: parseResponses,
			data: `{"type":"response.incomplete","response":{"status":"incomplete","usage":{"output_tokens":3}}}`,
			want: said{finish: "incomplete", in: -1, out: 3, add: -1, done: true}},
		{name: "responses: a failure", parse: parseResponses,
			data:    `{"type":"response.failed","response":{"status":"failed","error":{"code":"x","message":"boom"}}}`,
			failure: "boom"},
		{name: "responses: an error event", parse: parseResponses,
			data: `{"type":"error","code":"x","message":"boom"}`, failure: "boom"},
		{name: "responses: an event that is cut", parse: parseResponses,
			data: `{"type":"response.created","response":{`, bad: true},
		{name: "responses: text that is no JSON", parse: parseResponses, data: `boom`, bad: true},

		{name: "messages: the start has the input", parse: parseMessages,
			data: `{"type":"message_start","message":{"usage":{"input_tokens":9,"output_tokens":1}}}`,
			want: said{in: 9, out: -1, add: -1}},
		{name: "messages: a ping is no token", parse: parseMessages, data: `{"type":"ping"}`,
			want: said{in: -1, out: -1, add: -1}},
		{name: "messages: text", parse: parseMessages,
			data: `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}`,
			want: said{class: content, text: "a", in: -1, out: -1, add: -1}},
		{name: "messages: thinking", parse: parseMessages,
			data: `{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"a"}}`,
			want: said{class: reasoning, in: -1, out: -1, add: -1}},
		{name: "messages: a signature is no token", parse: parseMessages,
			data: `{"type":"content_block_delta","delta":{"type":"signature_delta","signature":"a"}}`,
			want: said{in: -1, out: -1, add: -1}},
		{name: "messages: a tool begins with its name", parse: parseMessages,
			data: `{"type":"content_block_start","content_block":{"type":"tool_use","id":"x","name":"f","input":{}}}`,
			want: said{class: tool, in: -1, out: -1, add: -1}},
		{name: "messages: a text that begins is no token",
			parse: parseMessages, data: `{"type":"content_block_start","content_block":{"type":"text","text":""}}`,
			want: said{in: -1, out: -1, add: -1}},
		{name: "messages: input of a tool", parse: parseMessages,
			data: `{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{"}}`,
			want: said{class: tool, in: -1, out: -1, add: -1}},
		{name: "messages: the output is counted near the end", parse: parseMessages,
			data: `{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":4}}`,
			want: said{finish: "max_tokens", in: -1, out: 4, add: -1}},
		{name: "messages: the end", parse: parseMessages, data: `{"type":"message_stop"}`,
			want: said{in: -1, out: -1, add: -1, done: true}},
		{name: "messages: an error", parse: parseMessages,
			data: `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`, failure: "busy"},
		{name: "messages: an event that is cut", parse: parseMessages, data: `{"type":"ping"`, bad: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var d delta
			d.clear()
			err := tt.parse([]byte(tt.data), &d)
			switch {
			case (err != nil) != tt.bad:
				t.Fatalf("error %v", err)
			case tt.failure != "":
				if d.failure == nil || errorText(d.failure) != tt.failure {
					t.Errorf("failure %s, want %q", d.failure, tt.failure)
				}
			case !tt.bad && read(&d) != tt.want:
				t.Errorf("got  %+v\nwant %+v", read(&d), tt.want)
			}
		})
	}
}
