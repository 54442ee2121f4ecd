package external

import (
	"slices"
	"testing"
)

func TestNoProxyLiesBetweenAToolAndWhatBflowHasDeployed(t *testing.T) {
	for _, row := range []struct {
		name, endpoint string
		env, want      []string
	}{
		{name: "no exception yet", endpoint: "http://llm.team.svc:8000",
			want: []string{"NO_PROXY=llm.team.svc", "no_proxy=llm.team.svc"}},
		{name: "beside those of the host, of which the last holds", endpoint: "http://127.0.0.1:8000/v1",
			env:  []string{"NO_PROXY=x", "NO_PROXY=a,b", "no_proxy="},
			want: []string{"NO_PROXY=x", "NO_PROXY=a,b", "no_proxy=", "NO_PROXY=a,b,127.0.0.1", "no_proxy=127.0.0.1"}},
		{name: "an address without a host", endpoint: "unix:///run/x.sock", env: []string{"A=b"}, want: []string{"A=b"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := straight(row.env, row.endpoint); !slices.Equal(got, row.want) {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}
