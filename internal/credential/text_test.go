package credential

import (
	"strings"
	"testing"
)

func TestATextIsShownWithoutItsSecrets(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"a flag and its value", `vllm bench serve --api-key s3cret --model m`, `vllm bench serve --api-key xxxxx --model m`},
		{"a flag joined with its value", `guidellm --token=s3cret --rate 5`, `guidellm --token=xxxxx --rate 5`},
		{"a value in quotes", `aiperf --api-key "s3cret and more" -m x`, `aiperf --api-key "xxxxx" -m x`},
		{"a flag on the line before", "run --api-key \\\n  s3cret \\\n  --rate 5",
			"run --api-key \\\n  xxxxx \\\n  --rate 5"},
		{"a flag without a value", `--use-auth --api-key --model m`, `--use-auth --api-key --model m`},
		{"a variable before a command", `HF_TOKEN=s3cret OPENAI_API_KEY='s3cret' vllm serve m`,
			`HF_TOKEN=xxxxx OPENAI_API_KEY='xxxxx' vllm serve m`},
		{"a header of curl", `curl -H "Authorization: Bearer s3cret" -H 'x-api-key: s3cret' h`,
			`curl -H "Authorization: xxxxx" -H 'x-api-key: xxxxx' h`},
		{"a scheme alone", `sent Bearer s3cret to h`, `sent Bearer xxxxx to h`},
		{"a user and a password in base64", `sent Basic bWU6czNjcmV0 to h`, `sent Basic xxxxx to h`},
		{"the word basic", `a basic question`, `a basic question`},
		{"an address", `--target=https://me:s3cret@h.example/v1?key=s3cret&a=1 x`,
			`--target=https://h.example/v1?key=xxxxx&a=1 x`},
		{"a password with a stop in it", `https://me:s3/cret@h.example/v1`, `https://h.example/v1`},
		{"an address without a scheme", `--url me:s3cret@h.example:8000`, `--url h.example:8000`},
		{"an address with a port", `http://h:80/@x?a=1#here`, `http://h:80/@x?a=1#here`},
		{"JSON", `{"api_key": "s3cret", "n": 1}`, `{"api_key": "xxxxx", "n": 1}`},
		{"JSON in JSON", `{\"api_key\": \"s3\\\"cret\", \"n\": 1}`, `{\"api_key\": \"xxxxx\", \"n\": 1}`},
		{"Python", `{'api_key': 's3cret', 'rate': 5}`, `{'api_key': 'xxxxx', 'rate': 5}`},
		{"a list of arguments", `["--api-key", "s3cret and more", "--rate", "5"]`, `["--api-key", "xxxxx", "--rate", "5"]`},
		{"a list of keys", `api_keys: [s3cret, s3cret]` + "\nrate: 5", "api_keys: xxxxx\nrate: 5"},
		{"a list of one name", `secret: [s3cret, s3cret]` + "\nrate: 5", "secret: xxxxx\nrate: 5"},
		{"YAML over lines", "a: 1\napi_key: |\n  s3cret\n\n  s3cret\nb: 2", "a: 1\napi_key: xxxxx\nb: 2"},
		{"YAML in a comment", "a: 1\n# api_key: s3cret\nb: 2", "a: 1\n# api_key: xxxxx\nb: 2"},
		{"a quote that YAML doubles", `password: 'it''s3cret' # x`, `password: 'xxxxx' # x`},
		{"nothing secret", `max_tokens: 5, stop: ["a"], time: 10:30, key: value`,
			`max_tokens: 5, stop: ["a"], time: 10:30, key: value`},
		{"no value", `api_key: null`, `api_key: null`},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := Text(row.text)
			if got != row.want {
				t.Errorf("\n got %q\nwant %q", got, row.want)
			}
			if again := Text(got); again != got {
				t.Errorf("once more %q is %q", got, again)
			}
		})
	}
}

// TestNoTextTakesLong: what grows with the square of its text comes to no end here before go test ends it.
func TestNoTextTakesLong(t *testing.T) {
	for _, part := range []string{"a:", "token:", "--token ", "token='", `token="\`, "token: [", "http://a:",
		"token:\n ", "Bearer ", "a@b:"} {
		t.Logf("a million times %q", part)
		_ = Text(strings.Repeat(part, 1<<20))
	}
}

func FuzzText(f *testing.F) {
	f.Add("--api-key x http://a:b@c?key=d token: |\n  e")
	f.Fuzz(func(t *testing.T, text string) {
		_ = Text(text)
	})
}
