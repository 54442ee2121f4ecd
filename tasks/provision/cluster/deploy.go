package cluster

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"

	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/outbound"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Render returns the objects of plan for this cluster. find is asked for what its pods need of the Secrets of the run,
// where those are on another cluster.
func (c *Cluster) Render(ctx context.Context, plan *runplan.RunPlan, run Run, simImage string,
	find runplan.Lookup) ([]runtime.Object, error) {
	r := Rendering{Namespace: c.Namespace, SimImage: simImage, OpenShift: c.openShift(ctx), Part: c.Part}
	if !c.Local {
		run.Owner = nil // an owner on another cluster would have the objects collected as orphans
		keys, err := SecretsOf(plan)
		if err != nil {
			return nil, err
		}
		r.Secrets = map[runplan.SecretKey]string{}
		for _, k := range keys {
			if r.Secrets[k], err = find(k); err != nil {
				return nil, err
			}
		}
	}
	return Objects(plan, run, r)
}

// Create makes objects, one after the other.
func (c *Cluster) Create(ctx context.Context, objects []runtime.Object) error {
	service := ""
	if i := owner(objects); i >= 0 {
		service = nameOf(objects[i])
	}
	for _, obj := range objects {
		var err error
		switch o := obj.(type) {
		case *corev1.Secret:
			err = c.createOwned(ctx, secrets, o, o, service)
		case *corev1.ConfigMap:
			err = c.createOwned(ctx, configMaps, o, o, service)
		default:
			err = c.createObject(ctx, obj)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// URL is the base URL of an address, for whoever runs in its cluster. Of another cluster nobody here knows the domain,
// which the resolver of a pod there adds by itself.
func (c *Cluster) URL(at platform.Address) string {
	if at.URL != "" {
		return at.URL
	}
	host := at.Service + "." + c.Namespace + ".svc"
	if c.Local {
		host += "." + domain("/etc/resolv.conf")
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(at.Port))
}

// Proxy is the way to the Service of an address from here, through the API server. It has no room for an Authorization
// of the server under test, and leads nowhere else: this client has a token of the cluster.
func (c *Cluster) Proxy(at platform.Address) (*http.Client, string) {
	name := "http:" + net.JoinHostPort(at.Service, strconv.Itoa(at.Port))
	url := c.core.Get().Namespace(c.Namespace).Resource(string(services)).Name(name).SubResource("proxy").URL()
	return outbound.Stay(c.core.Client), url.String()
}

// PodURLs are the base URLs of the engines among pods, which clients of the same cluster can reach one by one.
func PodURLs(plan *runplan.RunPlan, pods []*corev1.Pod) []string {
	var urls []string
	for _, pod := range pods {
		if isEngine(pod) && pod.Status.PodIP != "" && pod.DeletionTimestamp == nil {
			urls = append(urls, "http://"+net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(platform.Port(&plan.Deployment))))
		}
	}
	return urls
}

// domain is that of the cluster, as the search list of a pod's resolver has it.
func domain(resolvConf string) string {
	text, _ := os.ReadFile(resolvConf) // without one, the usual name is as good as any
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "search" {
			continue
		}
		for _, name := range fields[1:] {
			if rest, ok := strings.CutPrefix(name, "svc."); ok {
				return strings.TrimSuffix(rest, ".")
			}
		}
	}
	return "cluster.local"
}

// YAML writes objects as documents, with what may be a credential left out.
func YAML[T runtime.Object](objects []T) ([]byte, error) {
	var b bytes.Buffer
	for _, obj := range objects {
		tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			return nil, fmt.Errorf("encoding %q: %w", nameOf(obj), err)
		}
		redact(tree)
		text, err := yaml.Marshal(tree)
		if err != nil {
			return nil, fmt.Errorf("encoding %q: %w", nameOf(obj), err)
		}
		b.WriteString("---\n")
		b.Write(text)
	}
	return b.Bytes(), nil
}
