package cluster

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/internal/bounded"
	"bflow.dev/bflow/internal/credential"
	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/runplan/contract"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Files of the diagnostics, relative to the run directory.
const (
	FileRendered = "deployment/rendered.yaml" // what was asked for
	FileLive     = "deployment/live.yaml"     // what it was when it went
	FileEvents   = "deployment/events.jsonl"  // what the cluster said about it
	DirLogs      = "deployment/logs"          // <pod>.<container>.log, and .previous.log of one that was restarted
)

// Bounds of the diagnostics.
const (
	maxLog   = 16 << 20
	maxLines = "50000"

	longestLine = 1 << 20 // that is looked through for the names of secrets; the rest of a longer one is left out
	maxLogPods  = 64
)

// Gather writes what is there of the run into runDir: live objects, events and logs. What cannot be had is left out and
// in the error. It returns the pods it found. before are the restarts when the engine became ready, nil of one that
// never did.
func (c *Cluster) Gather(ctx context.Context, run Run, runDir string, before Restarts) ([]*corev1.Pod, error) {
	found, err := all[corev1.Pod](ctx, c, pods, run.selector())
	if err != nil {
		return nil, err
	}
	d := diagnostics{cluster: c, dir: runDir, pods: found}
	err = errors.Join(d.objects(ctx, run.selector()), d.events(ctx), d.engineLog(ctx, before))
	for i, pod := range found {
		if i < maxLogPods {
			err = errors.Join(err, d.logs(ctx, pod))
		}
	}
	return found, err
}

// diagnostics are written from what is there of a run.
type diagnostics struct {
	cluster *Cluster
	dir     string // of the run
	pods    []*corev1.Pod
}

// objects writes those that a selector finds.
func (d *diagnostics) objects(ctx context.Context, selector string) error {
	var objects []runtime.Object
	var failed error
	for _, k := range d.cluster.kinds() {
		if k.Data {
			continue
		}
		list, _, err := d.cluster.listKind(ctx, k, selector)
		failed = errors.Join(failed, err)
		for _, obj := range list {
			objects = append(objects, obj)
		}
	}
	sets, err := all[appsv1.ReplicaSet](ctx, d.cluster, replicaSets, selector)
	failed = errors.Join(failed, err)
	for _, obj := range sets {
		objects = append(objects, typed(obj, "apps/v1", "ReplicaSet"))
	}
	for _, obj := range d.pods {
		objects = append(objects, typed(obj, "v1", "Pod"))
	}
	if len(objects) == 0 {
		return failed
	}
	text, err := YAML(objects)
	if err == nil {
		err = durable.WriteFile(filepath.Join(d.dir, FileLive), []byte(d.cluster.Redaction.Text(string(text))))
	}
	return errors.Join(failed, err)
}

// typed names the kind of an object, which lists leave out.
func typed(obj runtime.Object, version, kind string) runtime.Object {
	group, v, ok := strings.Cut(version, "/")
	if !ok {
		group, v = "", version
	}
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: v, Kind: kind})
	return obj
}

// event is one line of the events file.
type event struct {
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
	Count   int32     `json:"count"`
	Type    string    `json:"type"`
	Reason  string    `json:"reason"`
	Object  string    `json:"object"`
	Source  string    `json:"source,omitempty"`
	Message string    `json:"message"`
}

// events writes those about the pods, and about what owns them.
func (d *diagnostics) events(ctx context.Context) error {
	if len(d.pods) == 0 {
		return nil
	}
	var lines []event
	for _, name := range named(d.pods) {
		list, err := d.cluster.eventsOf(ctx, name)
		if err != nil {
			return err
		}
		for _, e := range list {
			lines = append(lines, event{First: first(e), Last: last(e), Count: max(1, e.Count), Type: e.Type, Reason: e.Reason,
				Object: strings.ToLower(e.InvolvedObject.Kind) + "/" + e.InvolvedObject.Name,
				Source: cmp.Or(e.Source.Component, e.ReportingController), Message: e.Message})
		}
	}
	slices.SortStableFunc(lines, func(a, b event) int { return a.First.Compare(b.First) })
	var b strings.Builder
	for _, line := range lines {
		text, err := json.Marshal(line)
		if err != nil {
			return err
		}
		b.Write(append(text, '\n'))
	}
	return durable.WriteFile(filepath.Join(d.dir, FileEvents), []byte(d.cluster.Redaction.Text(b.String())))
}

// named are the names of the first pods, their ReplicaSets and their Deployment, each once.
func named(found []*corev1.Pod) []string {
	var names []string
	for _, pod := range found[:min(len(found), maxLogPods)] {
		names = append(names, pod.Name)
		for _, owner := range pod.OwnerReferences {
			names = append(names, owner.Name)
			if hash := pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; hash != "" {
				names = append(names, strings.TrimSuffix(owner.Name, "-"+hash))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// eventsOf asks for those about one name: a busy namespace holds many thousands, which nobody wants to be sent while
// GPUs wait.
func (c *Cluster) eventsOf(ctx context.Context, name string) ([]*corev1.Event, error) {
	list := &corev1.EventList{}
	err := c.core.Get().Namespace(c.Namespace).Resource(string(events)).Param("fieldSelector",
		"involvedObject.name="+name).Do(ctx).Into(list)
	if err != nil {
		return nil, fmt.Errorf("listing the events of %q: %w", name, err)
	}
	found := make([]*corev1.Event, len(list.Items))
	for i := range list.Items {
		found[i] = &list.Items[i]
	}
	return found, nil
}

func first(e *corev1.Event) time.Time {
	for _, t := range []time.Time{e.FirstTimestamp.Time, e.EventTime.Time, e.CreationTimestamp.Time} {
		if !t.IsZero() {
			return t.UTC()
		}
	}
	return time.Time{}
}

func last(e *corev1.Event) time.Time {
	if !e.LastTimestamp.IsZero() {
		return e.LastTimestamp.UTC()
	}
	return first(e)
}

// logs writes the log of every container of the pod, and of the one before where it was restarted.
func (d *diagnostics) logs(ctx context.Context, pod *corev1.Pod) error {
	var all error
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		base := filepath.Join(d.dir, DirLogs, pod.Name+"."+status.Name)
		if status.State.Waiting == nil || status.LastTerminationState.Terminated != nil {
			all = errors.Join(all, d.log(ctx, pod.Name, status.Name, false, base+".log"))
		}
		if status.RestartCount > 0 {
			all = errors.Join(all, d.log(ctx, pod.Name, status.Name, true, base+".previous.log"))
		}
	}
	return all
}

// engineLog writes the log of the first engine where that of a process would lie. Of one that was restarted since it
// was ready it is the log before, which says why.
func (d *diagnostics) engineLog(ctx context.Context, before Restarts) error {
	for _, pod := range d.pods {
		if !isEngine(pod) {
			continue
		}
		for _, status := range pod.Status.ContainerStatuses {
			if status.State.Waiting == nil || status.LastTerminationState.Terminated != nil {
				previous := status.RestartCount > before[pod.Name+"/"+status.Name]
				return d.log(ctx, pod.Name, status.Name, previous, filepath.Join(d.dir, contract.FileEngineLog))
			}
		}
	}
	return nil
}

func (d *diagnostics) log(ctx context.Context, pod, container string, previous bool, path string) error {
	stream, err := d.cluster.openLog(ctx, pod, container, previous, maxLines)
	if err != nil {
		return err
	}
	defer stream.Close()
	f, err := durable.Create(path)
	if err != nil {
		return fmt.Errorf("keeping the log of pod %q: %w", pod, err)
	}
	defer f.Discard()
	err = d.cluster.redacted(f, io.LimitReader(stream, maxLog))
	return errors.Join(err, f.Commit()) // the beginning of a log is better than none
}

// redacted copies a log without the secrets in it: an engine may print its own arguments.
func (c *Cluster) redacted(to io.Writer, from io.Reader) error {
	w := c.Redaction.Writer(to)
	if !c.Unknown {
		_, err := io.Copy(w, from)
		return errors.Join(err, w.Close())
	}
	names := new(credential.Memo)
	for in := bufio.NewReader(from); ; {
		line, err := bounded.ReadLine(in, longestLine)
		if _, failed := io.WriteString(w, names.Text(line)); failed != nil || err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return errors.Join(err, failed, w.Close())
		}
	}
}

func (c *Cluster) openLog(ctx context.Context, pod, container string, previous bool,
	lines string) (io.ReadCloser, error) {
	request := c.core.Get().Namespace(c.Namespace).Resource(string(pods)).Name(pod).SubResource("log").
		Param("container", container).Param("tailLines", lines)
	if previous {
		request = request.Param("previous", "true")
	}
	stream, err := request.Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the log of container %q of pod %q: %w", container, pod, err)
	}
	return stream, nil
}

// lastLine is the last line that a container printed before it ended, "" where nothing is to be had.
func (c *Cluster) lastLine(ctx context.Context, pod, container string) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, previous := range []bool{false, true} {
		stream, err := c.openLog(ctx, pod, container, previous, "20")
		if err != nil {
			continue
		}
		var text strings.Builder
		_ = c.redacted(&text, io.LimitReader(stream, 64<<10)) // what was read is told
		stream.Close()
		lines := strings.Split(strings.TrimSpace(text.String()), "\n")
		if line := strings.TrimSpace(lines[len(lines)-1]); line != "" {
			return strings.ToValidUTF8(line[:min(len(line), 400)], "")
		}
	}
	return ""
}
