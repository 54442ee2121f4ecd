//go:build e2e

package cluster

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"bflow.dev/bflow/bootstrap/component"
	"bflow.dev/bflow/bootstrap/objects"
	"bflow.dev/bflow/internal/audit"
)

const (
	webhookSecret = "bflow-webhook" // holds what events are signed with
	groupTriggers = "triggers.tekton.dev"
)

// keys are those of webhookSecret in these tests.
func keys() map[string]string {
	return map[string]string{"github": "gh-3f1", "gitlab": "gl-77a", "webhook": "wh-c09", "github-user.jane": "allowed",
		"github-user.mallory": "not", "github-user.eve": "allowed", "gitlab-user.jane": "allowed", "gitlab-user.mallory": "not"}
}

// event is a document of bootstrap/overlays/testdata/events.yaml, which says what the fields mean.
type event struct {
	About  string            `json:"about"`
	Key    string            `json:"key"`
	Header map[string]string `json:"header"`
	Body   json.RawMessage   `json:"body"`
	Starts map[string]string `json:"starts"`
	Tells  string            `json:"tells"`
}

// listener is an EventListener of bflow, reached through the API server.
type listener struct {
	*lab
	core      kubernetes.Interface
	namespace string
}

func (l *lab) listener(namespace string) *listener {
	l.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", l.kubeconfig)
	if err != nil {
		l.t.Fatal(err)
	}
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		l.t.Fatal(err)
	}
	if _, err := core.Discovery().ServerResourcesForGroupVersion(groupTriggers + "/v1beta1"); err != nil {
		l.t.Skipf("the cluster has no Tekton Triggers: %v", err)
	}
	return &listener{l, core, namespace}
}

// TestEventsStartWhatTheyMayAndNothingElse sends every event of bootstrap/overlays/testdata to a listener in a namespace of
// its own, where no Pipeline is: what is started ends at once.
func TestEventsStartWhatTheyMayAndNothingElse(t *testing.T) {
	const namespace = "bflow-events-test"
	l := newLab(t).listener(namespace)
	l.install()
	samples := sampleEvents(t)
	valid := samples[0]

	var refused []string // ids of events that must have started nothing
	l.awaitAnswer(10*time.Minute, "the listener to answer", func() string {
		id, err := l.send(valid, sign(valid, keys()))
		if err != nil {
			return err.Error()
		}
		refused = append(refused, id) // there is no Secret yet
		return ""
	})
	empty := map[string]string{"github": "", "gitlab": "", "webhook": "", "github-user.jane": "allowed", "gitlab-user.jane": "allowed"}
	l.secret(empty)
	for _, e := range samples {
		if id, err := l.send(e, sign(e, empty)); err == nil {
			refused = append(refused, id)
		}
	}
	l.secret(keys())
	l.awaitAnswer(10*time.Minute, "the Secret to be known", func() string {
		id, err := l.send(valid, sign(valid, keys()))
		if err != nil {
			return err.Error()
		}
		return l.missing(id, 3*time.Second)
	})

	started, told := map[string]event{}, map[string]event{}
	for _, e := range samples {
		id, err := l.send(e, sign(e, keys()))
		if err == nil && e.Tells != "" {
			told[id] = e
		}
		switch {
		case err != nil:
			t.Errorf("%s: %v", e.About, err)
		case e.Starts == nil:
			refused = append(refused, id)
		default:
			started[id] = e
		}
	}
	for id, e := range started {
		id = l.redelivered(e, id)
		if diff := cmp.Diff(e.Starts, said(t, l.started(id)[0])); diff != "" {
			t.Errorf("%s: -want +got\n%s", e.About, diff)
		}
	}
	for id, e := range told {
		l.tells(e, id, keys())
	}
	// The events that start something were sent among the others and have taken the longest way.
	for _, id := range refused {
		if made := l.started(id); len(made) > 0 {
			t.Errorf("event %s has started %s with params %v", id, made[0].GetName(), said(t, made[0]))
		}
	}
	l.rights()
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

// triggersPiece is what bootstrap adds where Tekton Triggers is served.
func triggersPiece(t *testing.T, served bool) []objects.Piece {
	t.Helper()
	out, err := (&component.Triggers{Served: served}).Render(component.Site{})
	if err != nil {
		t.Fatal(err)
	}
	return []objects.Piece{out.Piece}
}

// install makes what bootstrap would put into the namespace for its listener, and deletes it at the end.
func (l *listener) install() {
	l.t.Helper()
	all, err := objects.Objects(objects.Config{Namespaces: []string{l.namespace}, Pieces: triggersPiece(l.t, true)})
	if err != nil {
		l.t.Fatal(err)
	}
	for _, o := range all {
		kind := o.GroupVersionKind()
		inside := o.GetNamespace() == l.namespace && (kind.Group == groupTriggers || strings.HasSuffix(o.GetName(), "-listener"))
		itself := kind.Kind == "Namespace" && o.GetName() == l.namespace
		if !inside && !itself && !strings.HasPrefix(o.GetName(), "bflow-triggers") {
			continue
		}
		if itself {
			o.SetLabels(map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}) // it is for no runs
		}
		client := l.api.Resource(schema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: strings.ToLower(kind.Kind) + "s"}).Namespace(o.GetNamespace())
		_, err := client.Create(l.t.Context(), o, metav1.CreateOptions{})
		switch {
		case errors.IsAlreadyExists(err) && kind.Kind == "ClusterRole": // bootstrap has made it
		case err != nil:
			l.t.Fatalf("%s %s: %v", kind.Kind, o.GetName(), err)
		case o.GetNamespace() == "":
			l.t.Cleanup(func() { l.remove(client, o.GetName()) })
		}
	}
}

// afterwards is a context for what a test cleans up: its own is over by then.
func afterwards() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 2*time.Minute)
}

// remove deletes an object of the cluster and waits until it is gone.
func (l *listener) remove(client dynamic.ResourceInterface, name string) {
	ctx, cancel := afterwards()
	defer cancel()
	changes, err := client.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		l.t.Errorf("watching %s: %v", name, err)
		return
	}
	defer changes.Stop()
	for {
		if err := client.Delete(ctx, name, metav1.DeleteOptions{}); errors.IsNotFound(err) {
			return
		}
		select {
		case <-changes.ResultChan():
		case <-time.After(doubt): // the watch may have ended
		case <-ctx.Done():
			l.t.Errorf("%s is not gone", name)
			return
		}
	}
}

// secret writes webhookSecret anew.
func (l *listener) secret(values map[string]string) {
	l.t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: webhookSecret}, StringData: values}
	client := l.core.CoreV1().Secrets(l.namespace)
	err := client.Delete(l.t.Context(), webhookSecret, metav1.DeleteOptions{})
	if err == nil || errors.IsNotFound(err) {
		_, err = client.Create(l.t.Context(), s, metav1.CreateOptions{})
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// send posts an event and returns the id that the listener gave to it. It answers before it looks closer: 202 says nothing.
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

// started returns the PipelineRuns that an event has started.
func (l *listener) started(id string) []unstructured.Unstructured {
	l.t.Helper()
	found, err := l.listIn(pipelineRuns, l.namespace, "triggers.tekton.dev/triggers-eventid="+id)
	if err != nil {
		l.t.Fatal(err)
	}
	return found
}

// redelivered waits until an event has started its PipelineRun, and returns the id under which it has. The listener gives an
// event up whose interceptors do not answer in time: where the host is busy it is sent again, as its sender would do.
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
		n := len(l.started(id))
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
	got := map[string]string{"event": pr.GetAnnotations()["bflow.dev/event"], "author": pr.GetAnnotations()["bflow.dev/author"]}
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

// rights looks into the audit log, where there is one, for what the account of the listener may and does not do.
func (l *listener) rights() {
	l.t.Helper()
	path := l.audit
	if path == "" {
		l.t.Log("BFLOW_E2E_AUDIT names no audit log: rights were not compared")
		return
	}
	account := l.namespace + "/bflow-listener"
	log, err := audit.Read(wholeLog(l.t, path), func(name string) bool { return name == account }, func(binding string) bool { return strings.HasPrefix(binding, "bflow-") })
	if err != nil {
		l.t.Fatal(err)
	}
	all, err := objects.Objects(objects.Config{Namespaces: []string{l.namespace}, Pieces: triggersPiece(l.t, true)})
	if err != nil {
		l.t.Fatal(err)
	}
	granted, err := audit.Granted(all)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, r := range log.Unused(granted) {
		if r.Account == account && !streamed(log, r) {
			l.t.Errorf("never used: %s", r)
		}
	}
	for r, n := range log.Refused {
		l.t.Errorf("refused %d times: %s", n, r)
	}
}
