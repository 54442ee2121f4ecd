package client

import (
	"strings"
	"testing"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/loadgen/wire"
)

func TestTheMessageOfAnError(t *testing.T) {
	nested := strings.Repeat(`{"error":`, 6000)
	for _, tt := range []struct{ name, body, want string }{
		{name: "OpenAI's form", body: `{"error":{"message":"no \"such\" model","type":"x"}}`, want: `no "such" model`},
		{name: "the flat form", body: `{"object":"error","message":"busy"}`, want: "busy"},
		{name: "the error is the text", body: `{"error":"busy"}`, want: "busy"},
		{name: "FastAPI's form", body: `{"detail":"Not Found"}`, want: "Not Found"},
		{name: "no JSON", body: `<html>busy</html>`, want: "<html>busy</html>"},
		{name: "a JSON string", body: `"busy"`, want: "busy"},
		{name: "nothing", body: ``, want: ""},
		{name: "an object that breaks off behind its message", body: `{"error":{"message":"busy"},"x":`, want: "busy"},
		{name: "the message of a deeper object is not looked for", body: `{"error":{"error":{"message":"deep"}}}`,
			want: `{"error":{"error":{"message":"deep"}}}`},
		{name: "nor that of one without a bottom", body: nested, want: nested[:maxErrorText]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := errorText([]byte(tt.body)); got != tt.want {
				t.Errorf("got %.300q, want %.300q", got, tt.want)
			}
		})
	}
}

func TestNoPartOfASecretIsShown(t *testing.T) {
	const secret = "k3y-that-nobody-may-see"
	api, err := NewAPI(runplan.API{Type: runplan.APIChat}, wire.Server{Host: "h"}, secret)
	if err != nil {
		t.Fatal(err)
	}
	for blanks := maxCleaned - 2*len(secret); blanks < maxCleaned+2*len(secret); blanks++ {
		text := strings.Repeat(" ", blanks) + secret + strings.Repeat(" ", 100)
		if got := api.Clean(text); !strings.HasPrefix("[secret]", got) {
			t.Fatalf("behind %d blanks %q is shown", blanks, got)
		}
	}
}
