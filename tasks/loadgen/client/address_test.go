package client

import (
	"strings"
	"testing"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/loadgen/wire"
)

func TestCredentialsOfTheAddressGoIntoTheRequest(t *testing.T) {
	plan := runplan.API{Type: runplan.APIChat, Path: "/v1/chat/completions", VerifyTLS: true}
	server, err := wire.ParseServer("https://me:p%40ss@h.example/base?key=s3cret", plan)
	if err != nil {
		t.Fatal(err)
	}
	api, err := NewAPI(plan, server, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := api.Path(); got != "/base/v1/chat/completions?key=s3cret" {
		t.Errorf("the path is %q", got)
	}
	if got := api.Headers()["Authorization"]; got != "Basic bWU6cEBzcw==" {
		t.Errorf("the header is %q", got)
	}
	if server.Address != "h.example:443" || server.Host != "h.example" {
		t.Errorf("it goes to %q as %q", server.Address, server.Host)
	}
	api.Hide("s3cret")
	if text := api.Clean("echo s3cret Basic bWU6cEBzcw=="); strings.Contains(text, "s3cret") ||
		strings.Contains(text, "bWU6") {
		t.Errorf("shown is %q", text)
	}
}

func TestAnAddressThatCannotBeReadIsNotShown(t *testing.T) {
	for _, address := range []string{"ftp://me:s3cret@h.example", "https://me:s3cret@/v1",
		"https://me:s3cret%zz@h.example"} {
		if _, err := wire.ParseServer(address, runplan.API{}); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v", err)
		}
	}
}
