package app

import (
	"strings"

	"bflow.dev/bflow/internal/bounded"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// prometheusServers reads flag --prometheus: URL[,ca=FILE][,audience=NAME].
func prometheusServers(values []string) ([]contract.PrometheusServer, error) {
	var all []contract.PrometheusServer
	for _, value := range values {
		address, more, _ := strings.Cut(value, ",")
		server := contract.PrometheusServer{URL: address}
		for _, pair := range strings.FieldsFunc(more, func(r rune) bool { return r == ',' }) {
			key, text, _ := strings.Cut(pair, "=")
			switch {
			case key == "audience" && text != "":
				server.Audience = text
			case key == "ca" && text != "":
				ca, err := bounded.ReadFile(text, maxInput)
				if err != nil {
					return nil, step.Usagef("reading flag --prometheus: %w", err)
				}
				server.CA = string(ca)
			default:
				return nil, step.Usagef("reading flag --prometheus: %q: want ca=FILE or audience=NAME", pair)
			}
		}
		all = append(all, server)
	}
	return all, nil
}
