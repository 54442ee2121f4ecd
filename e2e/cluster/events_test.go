//go:build e2e

package cluster

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// keys are those of webhookSecret in these tests.
func keys() map[string]string {
	return map[string]string{"github": "gh-3f1", "gitlab": "gl-77a", "webhook": "wh-c09", "github-user.jane": "allowed",
		"github-user.mallory": "not", "github-user.eve": "allowed", "gitlab-user.jane": "allowed",
		"gitlab-user.mallory": "not"}
}

func sampleEvents(t *testing.T) []event {
	t.Helper()
	text, err := os.ReadFile("../../bootstrap/overlays/testdata/events.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []event
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		var e event
		if err := yaml.UnmarshalStrict(document, &e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// sign returns the headers of an event, with the signature that its key makes: "wrong" is a key that nobody has.
func sign(e event, keys map[string]string) map[string]string {
	header := map[string]string{"Content-Type": "application/json"}
	for k, v := range e.Header {
		header[k] = v
	}
	key := keys[e.Key]
	switch e.Key {
	case "":
		return header
	case "wrong":
		key = "somebody else's"
	}
	if e.Header["X-Gitlab-Event"] != "" {
		header["X-Gitlab-Token"] = key
		return header
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write(e.Body)
	header["X-Hub-Signature-256"] = "sha256=" + hex.EncodeToString(mac.Sum(nil))
	return header
}

// send posts an event and returns the id that the listener gave to it. It answers before it looks closer: 202 says
// nothing.
func (l *listener) send(e event, header map[string]string) (string, error) {
	request := l.core.CoreV1().RESTClient().Post().
		AbsPath("/api/v1/namespaces", l.namespace, "services", "el-bflow:8080", "proxy", "/").Body([]byte(e.Body))
	for k, v := range header {
		request.SetHeader(k, v)
	}
	answer, err := request.DoRaw(l.t.Context())
	if err != nil {
		return "", err
	}
	var said struct{ EventID string }
	if err := json.Unmarshal(answer, &said); err != nil || said.EventID == "" {
		return "", fmt.Errorf("the listener answers %q", answer)
	}
	return said.EventID, nil
}

// runsOf returns the PipelineRuns that an event has started.
func (l *listener) runsOf(id string) []unstructured.Unstructured {
	l.t.Helper()
	found, err := l.listIn(pipelineRuns, l.namespace, "triggers.tekton.dev/triggers-eventid="+id)
	if err != nil {
		l.t.Fatal(err)
	}
	return found
}

// redelivered waits until an event has started its PipelineRun, and returns the id under which it has. The listener
// gives an event up whose interceptors do not answer in time: where the host is busy it is sent again, as its sender
// would do.
func (l *listener) redelivered(e event, id string) string {
	l.t.Helper()
	l.awaitAnswer(10*time.Minute, e.About, func() string {
		why := l.missing(id, 30*time.Second)
		if why != "" {
			if again, err := l.send(e, sign(e, keys())); err == nil {
				l.t.Logf("%s: sent again", why)
				id = again
			}
		}
		return why
	})
	return id
}

// tells waits until the listener tells of an event what it should. It is sent again as in redelivered.
func (l *listener) tells(e event, id string, values map[string]string) {
	l.t.Helper()
	ids, sent := []string{id}, time.Now()
	l.awaitAnswer(10*time.Minute, e.About, func() string {
		if time.Since(sent) > 30*time.Second {
			if again, err := l.send(e, sign(e, values)); err == nil {
				ids, sent = append(ids, again), time.Now()
			}
		}
		for _, id := range ids {
			notices, err := l.listIn(events, l.namespace, "triggers.tekton.dev/triggers-eventid="+id)
			if err != nil {
				return err.Error()
			}
			for _, n := range notices {
				reason, _, _ := unstructured.NestedString(n.Object, "reason")
				message, _, _ := unstructured.NestedString(n.Object, "message")
				if said := reason + ": " + message; said != e.Tells {
					l.t.Errorf("%s: the listener tells %q, want %q", e.About, said, e.Tells)
				}
				return ""
			}
		}
		return fmt.Sprintf("events %q are not told of", ids)
	})
}

// missing says so when an event has not started one PipelineRun after a while.
func (l *listener) missing(id string, after time.Duration) string {
	l.t.Helper()
	over := time.After(after)
	for {
		changed := l.changed()
		n := len(l.runsOf(id))
		if n == 1 {
			return ""
		}
		said := fmt.Sprintf("event %s has started %d PipelineRuns", id, n)
		if n > 1 {
			return said
		}
		select {
		case <-over:
			return said
		case <-changed:
		}
	}
}

// said returns the params of a PipelineRun that are not empty, and who it says has started it. It has the account, the
// Pipeline and the fields that the template gives it, and no others.
func said(t *testing.T, pr unstructured.Unstructured) map[string]string {
	t.Helper()
	got := map[string]string{
		"event": pr.GetAnnotations()["bflow.dev/event"], "author": pr.GetAnnotations()["bflow.dev/author"],
	}
	params, _, _ := unstructured.NestedSlice(pr.Object, "spec", "params")
	for _, p := range params {
		param := p.(map[string]any)
		if value := param["value"].(string); value != "" && param["name"] != "wait" {
			got[param["name"].(string)] = value
		}
	}
	account, _, _ := unstructured.NestedString(pr.Object, "spec", "taskRunTemplate", "serviceAccountName")
	pipeline, _, _ := unstructured.NestedString(pr.Object, "spec", "pipelineRef", "name")
	if account != "bflow-submit" || pipeline != "bflow-experiment" || len(params) != 7 {
		t.Errorf("%s runs Pipeline %q as %q with %d params", pr.GetName(), pipeline, account, len(params))
	}
	if text := pr.GetAnnotations()["bflow.dev/started-by"]; text != got["event"]+" by "+got["author"] {
		t.Errorf("%s was started by %q", pr.GetName(), text)
	}
	return got
}
