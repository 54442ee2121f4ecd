package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

const (
	systemNamespace = "bflow-system"
	controllerPods  = "app.kubernetes.io/name=bflow-controller"
)

func proxyOf(config *rest.Config) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.APIPath = "/"
	config.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	return rest.UnversionedRESTClientFor(config)
}

// usage reads the controller's own metrics.
func (l *lab) usage(ctx context.Context) (usage, error) {
	list, err := l.hub.Resource(core("pods")).Namespace(systemNamespace).List(ctx,
		metav1.ListOptions{LabelSelector: controllerPods})
	if err != nil {
		return usage{}, fmt.Errorf("looking for the controller: %w", err)
	}
	for _, pod := range list.Items {
		if phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase"); phase != "Running" {
			continue
		}
		text, err := l.proxy.Get().AbsPath("/api/v1/namespaces", systemNamespace, "pods", pod.GetName()+":8080",
			"proxy/metrics").DoRaw(ctx)
		if err != nil {
			return usage{}, fmt.Errorf("reading the metrics of the controller: %w", err)
		}
		return parseUsage(text)
	}
	return usage{}, errors.New("looking for the controller: no pod of it runs")
}

// parseUsage reads metrics in Prometheus' text format.
func parseUsage(text []byte) (usage, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return usage{}, fmt.Errorf("reading the metrics of the controller: %w", err)
	}
	var u usage
	for _, m := range families["process_resident_memory_bytes"].GetMetric() {
		u.memory = m.GetGauge().GetValue()
	}
	for _, m := range families["rest_client_requests_total"].GetMetric() {
		u.calls += m.GetCounter().GetValue()
	}
	if u.memory == 0 || u.calls == 0 {
		return u, errors.New("reading the metrics of the controller: its memory or its requests are not among them")
	}
	return u, nil
}

// sample looks at the memory now and then until ctx ends, and then tells the most.
func (l *lab) sample(ctx context.Context) <-chan float64 {
	most := make(chan float64, 1)
	l.beside.Go(func() {
		var seen float64
		tick := time.NewTicker(3 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				most <- seen
				return
			case <-tick.C:
				if u, err := l.usage(ctx); err == nil {
					seen = max(seen, u.memory)
				}
			}
		}
	})
	return most
}
