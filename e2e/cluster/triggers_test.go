//go:build e2e

package cluster

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"bflow.dev/bflow/bootstrap/component"
	"bflow.dev/bflow/bootstrap/objects"
	"bflow.dev/bflow/internal/audit"
)

const (
	webhookSecret = "bflow-webhook" // holds what events are signed with
	groupTriggers = "triggers.tekton.dev"
)

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

func newListener(l *lab, namespace string) *listener {
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

// TestEventsStartWhatTheyMayAndNothingElse sends every event of bootstrap/overlays/testdata to a listener in a
// namespace of its own, where no Pipeline is: what is started ends at once.
func TestEventsStartWhatTheyMayAndNothingElse(t *testing.T) {
	const namespace = "bflow-events-test"
	l := newListener(newLab(t), namespace)
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
	empty := map[string]string{
		"github": "", "gitlab": "", "webhook": "", "github-user.jane": "allowed", "gitlab-user.jane": "allowed",
	}
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
		if diff := cmp.Diff(e.Starts, said(t, l.runsOf(id)[0])); diff != "" {
			t.Errorf("%s: -want +got\n%s", e.About, diff)
		}
	}
	for id, e := range told {
		l.tells(e, id, keys())
	}
	// The events that start something were sent among the others and have taken the longest way.
	for _, id := range refused {
		if made := l.runsOf(id); len(made) > 0 {
			t.Errorf("event %s has started %s with params %v", id, made[0].GetName(), said(t, made[0]))
		}
	}
	l.rights()
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
		inside := o.GetNamespace() == l.namespace &&
			(kind.Group == groupTriggers || strings.HasSuffix(o.GetName(), "-listener"))
		itself := kind.Kind == "Namespace" && o.GetName() == l.namespace
		if !inside && !itself && !strings.HasPrefix(o.GetName(), "bflow-triggers") {
			continue
		}
		if itself {
			o.SetLabels(map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}) // it is for no runs
		}
		client := l.api.Resource(schema.GroupVersionResource{Group: kind.Group, Version: kind.Version,
			Resource: strings.ToLower(kind.Kind) + "s"}).Namespace(o.GetNamespace())
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

// rights looks into the audit log, where there is one, for what the account of the listener may and does not do.
func (l *listener) rights() {
	l.t.Helper()
	path := l.audit
	if path == "" {
		l.t.Log("BFLOW_E2E_AUDIT names no audit log: rights were not compared")
		return
	}
	account := l.namespace + "/bflow-listener"
	log, err := audit.Read(wholeLog(l.t, path), func(name string) bool { return name == account },
		func(binding string) bool { return strings.HasPrefix(binding, "bflow-") })
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
