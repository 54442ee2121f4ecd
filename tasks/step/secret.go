package step

import (
	"os"
	"strings"

	"bflow.dev/bflow/runplan/contract"
)

// Environment that carries the API key of the server under test.
const (
	EnvAPIKey     = contract.EnvAPIKey
	EnvAPIKeyFile = "BFLOW_API_KEY_FILE"
)

// APIKey returns the key for the server under test: BFLOW_API_KEY, else the content of the file that
// BFLOW_API_KEY_FILE names, else "". A file that does not hold one line of text is a usage error. The key must never be
// printed or stored.
func APIKey(env func(string) string) (string, error) {
	if key := env(EnvAPIKey); key != "" {
		return key, nil
	}
	path := env(EnvAPIKeyFile)
	if path == "" {
		return "", nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", Usagef("reading the API key named by %s: %w", EnvAPIKeyFile, err)
	}
	key := strings.TrimSpace(string(data))
	if key == "" || strings.ContainsAny(key, "\r\n") {
		return "", Usagef("reading the API key %q: want one line of text", path)
	}
	return key, nil
}

// Redact replaces every occurrence of the secrets in text: servers like to echo what they refuse.
func Redact(text string, secrets ...string) string {
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "[secret]")
		}
	}
	return text
}

// CheckRequired returns a usage error naming the first flag among the pairs (name, value) that is empty.
func CheckRequired(pairs ...string) error {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			return Usagef("reading flags: --%s is required", pairs[i])
		}
	}
	return nil
}
