package fetch

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/results"

	corev1 "k8s.io/api/core/v1"
)

// cluster is an API server with a namespace "bench": runs, their TaskRuns and plans, and pods whose proxy leads to the
// real results server.
type cluster struct {
	*apitest.Server
	t     *testing.T
	pod   func(*corev1.Pod) // what the node makes of a pod
	fault func(http.ResponseWriter, *http.Request) bool

	mu       sync.Mutex
	created  []corev1.Pod
	requests []string // of files, with their ranges
}

func newCluster(t *testing.T, dir string) *cluster {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	c := &cluster{Server: apitest.New(t, "bench"), t: t, pod: ready,
		fault: func(http.ResponseWriter, *http.Request) bool { return false }}
	c.ServeRuns()
	c.OnCreate(c.node)
	c.Proxy(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.requests = append(c.requests, strings.TrimPrefix(r.URL.Path, "/bench/bflow-results-abcde:8080")+" "+
			r.Header.Get("Range"))
		c.mu.Unlock()
		if !c.fault(w, r) {
			http.StripPrefix("/bench/bflow-results-abcde:8080", results.Guarded(root, c.sum(), false, func() {})).ServeHTTP(w, r)
		}
	}))
	return c
}

// sum is what the last pod was told of its token.
func (c *cluster) sum() string {
	pod := c.created[len(c.created)-1]
	args := strings.Join(pod.Spec.Containers[0].Args, " ")
	_, sum, _ := strings.Cut(args, "--token-sha256=")
	return sum
}

func (c *cluster) api() *kube.Client {
	c.t.Helper()
	return connect(c.t, c.Config())
}

func connect(t *testing.T, cfg *kube.Config) *kube.Client {
	t.Helper()
	api, err := kube.New(cfg, "")
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// node starts a pod.
func (c *cluster) node(q apitest.Request, made apitest.Object) {
	pod := as[corev1.Pod](c.t, made)
	c.created = append(c.created, pod)
	c.pod(&pod)
	c.Put(q.Path, pod)
}

// as is an object in its own type.
func as[T any](t *testing.T, o apitest.Object) (typed T) {
	t.Helper()
	text, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(text, &typed)
	}
	if err != nil {
		t.Fatal(err)
	}
	return typed
}

// deleted are the names of objects that were to go.
func (c *cluster) deleted() (names []string) {
	for _, q := range c.Requests() {
		if q.Verb == "delete" {
			names = append(names, q.Name)
		}
	}
	return names
}

func ready(p *corev1.Pod) {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

const (
	runs     = "/apis/tekton.dev/v1/namespaces/bench/pipelineruns/"
	taskRuns = "/apis/tekton.dev/v1/namespaces/bench/taskruns/"
)

// addRun adds the attempts of a run; those that have begun have a TaskRun on a volume.
func (c *cluster) addRun(run string, begun ...bool) {
	for i, b := range begun {
		name := run
		if i > 0 {
			name = fmt.Sprintf("%s-a%d", run, i+1)
		}
		c.put(runs+name, `{"metadata":{"labels":{"bflow.dev/run":%q,"bflow.dev/attempt":"%d"}},
			"spec":{"workspaces":[{"name":"plan","configMap":{"name":"plan-1"}}],
			"taskRunTemplate":{"podTemplate":{"nodeSelector":{"pool":"cpu"},"securityContext":{"fsGroup":65532}}}}}`, run, i+1)
		if b {
			c.put(taskRuns+name+"-provision", `{"metadata":{"labels":{"tekton.dev/pipelineRun":%q,"tekton.dev/pipelineTask":"provision"}},
				"spec":{"workspaces":[{"name":"plan","configMap":{"name":"plan-1"}},{"name":"run","subPath":"sub","persistentVolumeClaim":{"claimName":"pvc-%d"}}]}}`, name, i+1)
			c.put(taskRuns+name+"-collect", `{"metadata":{"labels":{"tekton.dev/pipelineRun":%q,"tekton.dev/pipelineTask":"collect"}},
				"spec":{},"status":{"taskSpec":{"steps":[{"name":"collect","image":"reg.example/collect@sha256:1"}]}}}`, name)
		}
	}
}

// put makes an object from JSON with words filled in.
func (c *cluster) put(path, format string, words ...any) {
	c.t.Helper()
	c.Put(path, json.RawMessage(fmt.Sprintf(format, words...)))
}
