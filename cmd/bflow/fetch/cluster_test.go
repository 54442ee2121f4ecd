package fetch

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"bflow.dev/bflow/tasks/results"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// cluster is an API server that knows one namespace "bench": runs, their TaskRuns and plans from JSON, and pods whose
// proxy leads to the real results server.
type cluster struct {
	*httptest.Server
	objects map[string]string // path of the API, with its query -> JSON
	pod     func(*corev1.Pod) // what the node makes of a pod
	fault   func(http.ResponseWriter, *http.Request) bool

	mu       sync.Mutex
	created  []corev1.Pod
	deleted  []string
	requests []string // of files, with their ranges
}

func newCluster(t *testing.T, dir string) *cluster {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	c := &cluster{objects: map[string]string{}, pod: ready, fault: func(http.ResponseWriter, *http.Request) bool { return false }}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/namespaces/bench/pods", c.create)
	mux.HandleFunc("GET /api/v1/namespaces/bench/pods", c.watch)
	mux.HandleFunc("DELETE /api/v1/namespaces/bench/pods/{name}", c.remove)
	files := http.StripPrefix("/api/v1/namespaces/bench/pods/bflow-results-x:8080/proxy", results.Handler(root))
	mux.HandleFunc("GET /api/v1/namespaces/bench/pods/bflow-results-x:8080/proxy/", func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.requests = append(c.requests, r.URL.Path[strings.Index(r.URL.Path, "/proxy")+6:]+" "+r.Header.Get("Range"))
		c.mu.Unlock()
		if !c.fault(w, r) {
			files.ServeHTTP(w, r)
		}
	})
	mux.HandleFunc("GET /", c.object)
	c.Server = httptest.NewServer(mux)
	t.Cleanup(c.Close)
	return c
}

func (c *cluster) config() *rest.Config { return &rest.Config{Host: c.URL} }

func (c *cluster) create(w http.ResponseWriter, r *http.Request) {
	var pod corev1.Pod
	if err := json.NewDecoder(r.Body).Decode(&pod); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	pod.Name = pod.GenerateName + "x"
	c.mu.Lock()
	c.created = append(c.created, pod)
	c.mu.Unlock()
	w.WriteHeader(http.StatusCreated)
	json.NewEncoder(w).Encode(pod)
}

func (c *cluster) watch(w http.ResponseWriter, _ *http.Request) {
	pod := c.created[len(c.created)-1]
	enc := json.NewEncoder(w)
	enc.Encode(map[string]any{"type": "ADDED", "object": pod})
	c.pod(&pod)
	enc.Encode(map[string]any{"type": "MODIFIED", "object": pod})
	w.(http.Flusher).Flush()
}

func (c *cluster) remove(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deleted = append(c.deleted, r.PathValue("name"))
	fmt.Fprint(w, `{"kind":"Pod","apiVersion":"v1"}`)
}

func (c *cluster) object(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if q := r.URL.Query().Get("labelSelector"); q != "" {
		path += "?" + q
	}
	w.Header().Set("Content-Type", "application/json")
	if text, ok := c.objects[path]; ok {
		io.WriteString(w, text)
		return
	}
	if strings.Contains(path, "?") {
		io.WriteString(w, `{"items":[]}`)
		return
	}
	w.WriteHeader(http.StatusNotFound)
	json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: 404, Message: path + " not found",
	})
}

func ready(p *corev1.Pod) {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

const (
	runs     = "/apis/tekton.dev/v1/namespaces/bench/pipelineruns"
	taskRuns = "/apis/tekton.dev/v1/namespaces/bench/taskruns"
)

// addRun adds the attempts of a run; those that have begun have a TaskRun on a volume.
func (c *cluster) addRun(run string, begun ...bool) {
	var items []string
	for i, b := range begun {
		name := run
		if i > 0 {
			name = fmt.Sprintf("%s-a%d", run, i+1)
		}
		items = append(items, fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"bench","uid":"u%d","labels":{"bflow.dev/run":%q,"bflow.dev/attempt":"%d"}},
			"spec":{"workspaces":[{"name":"plan","configMap":{"name":"plan-1"}}],
			"taskRunTemplate":{"podTemplate":{"nodeSelector":{"pool":"cpu"},"securityContext":{"fsGroup":65532}}}}}`, name, i+1, run, i+1))
		if b {
			c.objects[taskRuns+"?tekton.dev/pipelineRun="+name] = fmt.Sprintf(`{"items":[
				{"metadata":{"name":"a","labels":{"tekton.dev/pipelineTask":"provision"}},"spec":{"workspaces":[{"name":"plan","configMap":{"name":"plan-1"}},{"name":"run","subPath":"sub","persistentVolumeClaim":{"claimName":"pvc-%d"}}]}},
				{"metadata":{"name":"b","labels":{"tekton.dev/pipelineTask":"collect"}},"spec":{},"status":{"taskSpec":{"steps":[{"name":"collect","image":"reg.example/collect@sha256:1"}]}}}]}`, i+1)
		}
	}
	c.objects[runs+"?bflow.dev/run="+run] = `{"items":[` + strings.Join(items, ",") + `]}`
}
