//go:build e2e

package cluster

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"bflow.dev/bflow/queue/lock/history"
)

// TestMain judges, after the tests, what the controllers of all hubs have told meanwhile: never two setup keys in use
// at once on a target, never more than its quota, fences that grow.
func TestMain(m *testing.M) {
	l := &chronicle{seen: map[string]bool{}, following: map[string]bool{}}
	ctx, stop := context.WithCancel(context.Background())
	quiet()
	for _, hub := range theHubs() {
		l.hub(ctx, hub.kubeconfig)
	}
	code := m.Run()
	printSpent()
	stop()
	l.listening.Wait()
	if !l.judge() {
		code = max(code, 1)
	}
	os.Exit(code)
}

// chronicle keeps the lines of controllers that belong to the history of locks.
type chronicle struct {
	listening sync.WaitGroup

	mu        sync.Mutex
	text      bytes.Buffer
	seen      map[string]bool // lines: a log is read anew where its server was away
	following map[string]bool // pods, by hub
}

// hub follows every controller of a hub that comes.
func (l *chronicle) hub(ctx context.Context, kubeconfig string) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	l.listening.Go(func() {
		for ctx.Err() == nil {
			pods, err := api.CoreV1().Pods(ourController.namespace).List(ctx, metav1.ListOptions{
				LabelSelector: ourController.selector,
			})
			for i := 0; err == nil && i < len(pods.Items); i++ {
				l.listen(ctx, api, kubeconfig, pods.Items[i].Name)
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	})
}

// listen follows the log of a pod until it ends, unless somebody does.
func (l *chronicle) listen(ctx context.Context, api kubernetes.Interface, hub, pod string) {
	key := hub + " " + pod
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.following[key] {
		return
	}
	l.following[key] = true
	l.listening.Go(func() {
		defer func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			delete(l.following, key)
		}()
		body, err := api.CoreV1().Pods(ourController.namespace).GetLogs(pod,
			&corev1.PodLogOptions{Follow: true, Timestamps: true}).Stream(ctx)
		if err != nil {
			return // it is not ready, or gone: whoever asks next sees
		}
		defer body.Close()
		for lines := bufio.NewScanner(body); lines.Scan(); {
			l.keep(lines.Text())
		}
	})
}

// keep keeps a line of the history, with the time at which the node has written it: a controller's clock may be
// shifted.
func (l *chronicle) keep(line string) {
	at, said, _ := strings.Cut(line, " ")
	if !strings.Contains(said, `"msg":"history"`) {
		return
	}
	var event map[string]any
	if err := json.Unmarshal([]byte(said), &event); err != nil {
		return // it was cut off
	}
	event["time"] = at
	text, err := json.Marshal(event)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && !l.seen[line] {
		l.seen[line] = true
		l.text.Write(append(text, '\n'))
	}
}

// judge prints what must not be.
func (l *chronicle) judge() bool {
	events, err := history.Read(&l.text)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return false
	}
	wrong := history.Check(events, history.Options{Open: true, Lag: 20 * time.Second})
	for _, err := range wrong {
		fmt.Fprintln(os.Stderr, "history:", err)
	}
	fmt.Fprintf(os.Stderr, "history: %d events, %d of them wrong\n", len(events), len(wrong))
	return len(wrong) == 0
}
