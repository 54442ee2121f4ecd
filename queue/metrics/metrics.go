// Package metrics names the metrics of the controller and holds the instruments, on a given registry. It must not
// know Kubernetes: its callers count runs and devices and pass numbers.
package metrics

import "github.com/prometheus/client_golang/prometheus"

// Metrics are the instruments of one process.
type Metrics struct {
	QueueWait       *prometheus.HistogramVec
	Release         *prometheus.HistogramVec
	Forced          *prometheus.CounterVec
	Leftovers       *prometheus.CounterVec
	Attempts        *prometheus.CounterVec
	Unstartable     prometheus.Counter
	GPUs            *prometheus.GaugeVec
	GPUSeconds      *prometheus.CounterVec
	Admission       *prometheus.HistogramVec
	TargetReachable *prometheus.GaugeVec
	TargetDirty     *prometheus.GaugeVec
	Leaked          *prometheus.GaugeVec
	ReasonWrites    prometheus.Counter
}

// New makes the instruments and registers them. A name that is taken is an error.
func New(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		// From a run that finds free devices to one that waits for a week.
		QueueWait:       histogram(QueueWaitSeconds, prometheus.ExponentialBuckets(1, 4, 11), "target"),
		Release:         histogram(ReleaseSeconds, prometheus.ExponentialBuckets(1, 2, 11), "target"),
		Forced:          counter(ForcedReleases, "target"),
		Leftovers:       counter(Leftovers, "target", "kind"),
		Attempts:        counter(Attempts, "cause"),
		Unstartable:     prometheus.NewCounter(prometheus.CounterOpts{Name: Unstartable, Help: Help(Unstartable)}),
		GPUs:            gauge(GPUs, "target", "resource", "state"),
		GPUSeconds:      counter(GPUSeconds, "target", "resource", "state"),
		Admission:       histogram(AdmissionSeconds, prometheus.ExponentialBuckets(0.01, 4, 10), "target"),
		TargetReachable: gauge(TargetReachable, "target"),
		TargetDirty:     gauge(TargetDirty, "target"),
		Leaked:          gauge(Leaked, "target"),
		ReasonWrites:    prometheus.NewCounter(prometheus.CounterOpts{Name: ReasonWrites, Help: Help(ReasonWrites)}),
	}
	for _, c := range []prometheus.Collector{
		m.QueueWait, m.Release, m.Forced, m.Leftovers, m.Attempts, m.Unstartable, m.GPUs, m.GPUSeconds, m.Admission,
		m.TargetReachable, m.TargetDirty, m.Leaked, m.ReasonWrites,
	} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// ForgetTarget takes away what is told of a target that is gone.
func (m *Metrics) ForgetTarget(name string) {
	for _, gauge := range []*prometheus.GaugeVec{m.GPUs, m.TargetReachable, m.TargetDirty, m.Leaked} {
		gauge.DeletePartialMatch(prometheus.Labels{"target": name})
	}
}

func histogram(name string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: Help(name), Buckets: buckets}, labels)
}

func counter(name string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: Help(name)}, labels)
}

func gauge(name string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: Help(name)}, labels)
}
