package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// reachContainer is the container of the pod that tries the URLs; the others only have their images pulled.
const reachContainer = "bflow"

// models is tried if nobody names a URL. Many clusters cannot reach it, and need not.
const models = "https://huggingface.co"

// pod starts a pod with all images of bflow, so that an image that cannot be pulled is found here and not in the
// middle of a run. Only a pod can find out what pods reach.
func (d *doctor) pod(ctx context.Context) []Line {
	const check = "images"
	if !d.Pod {
		return nil
	}
	prefix, tag := d.imageNames()
	if prefix == "" {
		return []Line{warn(check, "name them with --image-prefix",
			"the location of the images is not known, because bflow-controller is not installed")}
	}
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	pod := &corev1.Pod{}
	err := d.client.Create(ctx, kube.Core("pods", d.Namespace, ""), d.probe(prefix, tag), pod, kube.Write{})
	if err != nil {
		return []Line{fail(check, "fix what the API server reports, or check without a pod: --no-pod",
			"a pod of bflow cannot be created in namespace %s: %s", d.Namespace, serverMessage(err))}
	}
	at := kube.Core("pods", d.Namespace, pod.Name)
	defer func() { // also after an interrupt, so that the pod does not stay
		_, _ = d.client.Delete(context.WithoutCancel(ctx), at, kube.Deletion{Force: true})
	}()
	before := d.Now()
	for !settled(pod) && kube.Sleep(ctx, time.Second) {
		if now, err := kube.Get[corev1.Pod](ctx, d.client, at); err == nil {
			pod = now
		}
	}
	return append(imageLines(pod), d.checkEgress(context.WithoutCancel(ctx), at, before)...)
}

// imageNames returns prefix and tag of the images, by default those of the controller: prefix/bflow-controller:tag. If
// its Deployment may not be read, the prefix comes from the ConfigMap in the namespace of runs.
func (d *doctor) imageNames() (prefix, tag string) {
	prefix, tag = d.Prefix, d.Tag
	if d.deployed != nil {
		for _, c := range d.deployed.Spec.Template.Spec.Containers {
			image, _, _ := strings.Cut(c.Image, "@")
			slash := strings.LastIndex(image, "/")
			if at := strings.LastIndex(image, ":"); at > slash {
				tag, image = cmp.Or(tag, image[at+1:]), image[:at]
			}
			if slash > 0 {
				prefix = cmp.Or(prefix, image[:slash])
			}
		}
	}
	return strings.TrimRight(cmp.Or(prefix, d.images), "/"), cmp.Or(tag, d.Version)
}

// probe returns the pod: restricted, without rights, and with a deadline in case nobody deletes it.
func (d *doctor) probe(prefix, tag string) *unstructured.Unstructured {
	var containers []any
	for _, binary := range append(contract.Binaries(), "sim-engine", reachContainer) {
		args := []any{"--help"}
		if binary == reachContainer {
			args = []any{"reach"}
			for _, address := range d.urls() {
				args = append(args, address)
			}
		}
		containers = append(containers, map[string]any{
			"name": binary, "image": prefix + "/" + binary + ":" + tag, "command": []any{"/" + binary}, "args": args,
			"env": []any{map[string]any{"name": "HOME", "value": "/tmp"}},
			"resources": map[string]any{"requests": map[string]any{"cpu": "10m", "memory": "16Mi"},
				"limits": map[string]any{"memory": "128Mi"}},
			"securityContext": map[string]any{
				"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
				"capabilities": map[string]any{"drop": []any{"ALL"}},
			},
		})
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{
			"generateName": "bflow-doctor-",
			"labels":       map[string]any{contract.LabelManagedBy: contract.ManagedBy, contract.LabelRole: contract.RoleDoctor},
		},
		"spec": map[string]any{
			"restartPolicy": "Never", "serviceAccountName": contract.AccountLoad, "automountServiceAccountToken": false,
			"activeDeadlineSeconds": int64(600), "terminationGracePeriodSeconds": int64(0),
			"securityContext": map[string]any{"runAsNonRoot": true, "seccompProfile": map[string]any{"type": "RuntimeDefault"}},
			"containers":      containers,
		},
	}}
}

func (d *doctor) urls() []string {
	if len(d.Reach) > 0 {
		return d.Reach
	}
	return []string{models}
}

// podFailure returns why a container of a pod does not start, "" if it is only on its way.
func podFailure(pod *corev1.Pod) string {
	for _, s := range pod.Status.ContainerStatuses {
		reason := containerFailure(s)
		if strings.Contains(reason, "Image") && s.Image != "" {
			return fmt.Sprintf("image %s: %s", s.Image, reason)
		}
		if reason != "" {
			return reason
		}
	}
	return ""
}

func containerFailure(s corev1.ContainerStatus) string {
	waits := s.State.Waiting
	switch {
	case waits == nil, waits.Reason == "", waits.Reason == "ContainerCreating", waits.Reason == "PodInitializing":
		return ""
	case waits.Message == "":
		return waits.Reason
	}
	return waits.Reason + ": " + rootCause(waits.Message) // the kubelet repeats the name of the image in every prefix
}

// settled reports whether every container has ended or will never start.
func settled(pod *corev1.Pod) bool {
	all := pod.Status.ContainerStatuses
	return len(all) > 0 && !slices.ContainsFunc(all, func(s corev1.ContainerStatus) bool {
		return s.State.Terminated == nil && containerFailure(s) == ""
	})
}

func imageLines(pod *corev1.Pod) []Line {
	const check = "images"
	node := pod.Spec.NodeName
	if node == "" {
		return []Line{fail(check, "check why the scheduler finds no node: pods of bflow need one that accepts pods without "+
			"tolerations", "a pod of bflow cannot be scheduled%s", unscheduled(pod))}
	}
	lines := unpulled(pod, node)
	switch {
	case len(lines) > 0:
		return lines
	case !settled(pod):
		return []Line{fail(check, "check node "+node+": kubectl describe node "+node,
			"the images did not start on node %s in time", node)}
	default:
		return []Line{ok(check, "all %d images start on node %s", len(pod.Status.ContainerStatuses), node)}
	}
}

// unpulled returns one line per cause: often no image can be pulled at all.
func unpulled(pod *corev1.Pod, node string) []Line {
	images := map[string][]string{}
	var causes []string
	for _, s := range pod.Status.ContainerStatuses {
		reason := containerFailure(s)
		if reason == "" {
			continue
		}
		reason = strings.ReplaceAll(reason, "ImagePullBackOff", "ErrImagePull") // the same failure, a moment later
		if images[reason] == nil {
			causes = append(causes, reason)
		}
		images[reason] = append(images[reason], s.Image)
	}
	var lines []Line
	for _, cause := range causes {
		lines = append(lines, fail("images", "push them with bflow images push, load them into the node, or give the "+
			"namespace's ServiceAccounts an imagePullSecret",
			"%s cannot be pulled on node %s: %s", strings.Join(images[cause], ", "), node, cause))
	}
	return lines
}

func unscheduled(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return ": " + c.Message
		}
	}
	return ""
}

// checkEgress reads what the pod has reached.
func (d *doctor) checkEgress(ctx context.Context, pod kube.At, before time.Time) []Line {
	const check = "egress"
	told, err := d.log(ctx, pod)
	if err != nil {
		return []Line{warn(check, "see the lines above", "what pods can reach could not be checked: %v", err)}
	}
	var lines []Line
	for _, u := range told.URLs {
		switch {
		case u.Error == "":
			lines = append(lines, ok(check, "pods reach %s", u.URL))
		case len(d.Reach) > 0:
			lines = append(lines, fail(check, "allow egress of pods in namespace "+d.Namespace+
				": proxy, firewall, NetworkPolicy", "pods do not reach %s: %s", u.URL, u.Error))
		default:
			lines = append(lines,
				warn(check, "store models on a volume, or give your mirror with --reach URL and in HF_ENDPOINT of the deployment",
					"pods do not reach %s: %s", u.URL, u.Error))
		}
	}
	if line := skewLine("clock", "the node of the pod", skew(told.Time, before, d.Now(), 0)); line.Level != OK {
		lines = append(lines, line)
	}
	return lines
}

func (d *doctor) log(ctx context.Context, pod kube.At) (r ReachReport, err error) {
	pod.Sub = "log"
	body, err := d.client.Stream(ctx, pod, url.Values{"container": {reachContainer}})
	if err != nil {
		return r, fmt.Errorf("reading the log of pod %q: %w", pod.Name, err)
	}
	defer body.Close()
	if err := json.NewDecoder(io.LimitReader(body, 1<<20)).Decode(&r); err != nil {
		return r, fmt.Errorf("reading the log of pod %q: %w", pod.Name, err)
	}
	return r, nil
}
