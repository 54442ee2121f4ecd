package guidellm

import (
	"slices"
	"strings"

	"bflow.dev/bflow/load/tool"
)

// settings are variables GUIDELLM__NAME, from the environment or .env.
type settings struct {
	values map[string]string // by name without the prefix, upper case
	spec   []string          // names below SPEC, METADATA and BENCHMARKS: a scenario of 0.7 and later
}

const settingsPrefix = "GUIDELLM__"

// readSettings reads them; .env is weaker than the environment.
func readSettings(c *tool.CommandLine) settings {
	s := settings{values: map[string]string{}}
	for _, name := range c.Names {
		if rest, ok := strings.CutPrefix(name, settingsPrefix); ok {
			s.values[strings.ToUpper(rest)] = c.Env[name]
		}
	}
	if b, err := c.Files(".env"); err == nil {
		for line := range strings.Lines(string(b)) {
			name, value, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "export ")), "=")
			rest, ours := strings.CutPrefix(strings.ToUpper(strings.TrimSpace(name)), settingsPrefix)
			if _, have := s.values[rest]; ok && ours && !have {
				s.values[rest] = unquote(strings.TrimSpace(value))
			}
		}
	}
	for name := range s.values {
		if isSpec(name) {
			s.spec = append(s.spec, name)
		}
	}
	slices.SortFunc(s.spec, func(a, b string) int { // short ones first: they hold what the others change
		if n := strings.Count(a, "__") - strings.Count(b, "__"); n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	checkSettings(c, s)
	return s
}

func isSpec(name string) bool {
	return strings.HasPrefix(name, "SPEC__") || name == "SPEC" || strings.HasPrefix(name, "METADATA__") ||
		name == "METADATA" || name == "BENCHMARKS"
}

func unquote(s string) string {
	if len(s) > 1 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// honoured are settings that mean something here.
func honoured() []string {
	return []string{
		"MAX_CONCURRENCY", "DEFAULT_SWEEP_NUMBER", "LOGGING__CONSOLE_LOG_LEVEL", "LOGGING__DISABLED", "LOGGING__LOG_FILE",
		"LOGGING__LOG_FILE_LEVEL", "LOGGING__CLEAR_LOGGERS", "DEFAULT_RESULTS_DIR", "REQUEST_TIMEOUT", "REQUEST_HTTP2",
		"REQUEST_FOLLOW_REDIRECTS", "PREFERRED_ROUTE", "OPENAI__API_KEY", "OPENAI__BEARER_TOKEN", "OPENAI__HEADERS",
		"OPENAI__ORGANIZATION", "OPENAI__PROJECT", "OPENAI__BASE_URL", "OPENAI__MAX_OUTPUT_TOKENS", "OPENAI__VERIFY",
	}
}

// noted are settings of the tool's own machinery, some of them by their beginning.
func noted() []string {
	return []string{
		"MAX_WORKER_PROCESSES", "MP_", "SCHEDULER_START_DELAY", "SCHEDULER_START_DELAY_NON_DISTRIBUTED",
		"CONSTRAINT_ERROR_WINDOW_SIZE", "CONSTRAINT_ERROR_MIN_PROCESSED", "PREFERRED_PROMPT_TOKENS_SOURCE",
		"PREFERRED_OUTPUT_TOKENS_SOURCE", "DATASET__", "TABLE_", "DEFAULT_SYNTHETIC_TOOL_RESPONSE", "ENV",
		"PREFERRED_BACKEND", "REPORT_GENERATION__", "MAX_ADD_PROCESS_WAIT", "MIN_WORKER_PROCESSES",
	}
}

func checkSettings(c *tool.CommandLine, s settings) {
	for _, name := range c.Names {
		rest, ok := strings.CutPrefix(strings.ToUpper(name), settingsPrefix)
		if !ok || isSpec(rest) || slices.Contains(honoured(), rest) {
			continue
		}
		isNoted := func(n string) bool { return rest == n || strings.HasSuffix(n, "_") && strings.HasPrefix(rest, n) }
		if slices.ContainsFunc(noted(), isNoted) {
			c.Warnf(name, "has no effect here: it is about how the tool itself works")
			continue
		}
		var known []string
		for _, n := range append(honoured(), noted()...) {
			known = append(known, settingsPrefix+n)
		}
		c.Unknown(name, known)
	}
}

// settingsCount tells whether the settings of up to 0.5 count, and warns of each where they do not.
func settingsCount(c *tool.CommandLine, generation string, s settings) bool {
	if generation != "0.6" && generation != "0.7" {
		return true
	}
	for _, name := range honoured()[8:] {
		if _, ok := s.values[name]; ok {
			c.Warnf(settingsPrefix+name, "has no effect: GuideLLM %s and later do not read it", generation)
		}
	}
	return false
}

// pass passes on the settings that the translation itself reads. floor is the tool's cap of a throughput profile that
// names none.
func (s settings) pass(c *tool.CommandLine, floor string) {
	c.Settings["GUIDELLM__MAX_CONCURRENCY"] = floor
	for _, name := range []string{"MAX_CONCURRENCY", "DEFAULT_SWEEP_NUMBER"} {
		if v, ok := s.values[name]; ok {
			c.Settings[settingsPrefix+name] = v
		}
	}
}
