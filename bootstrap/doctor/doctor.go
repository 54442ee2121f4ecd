// Package doctor checks whether a cluster is fit for bflow, and says what to do if it is not. It only reads, except
// for a pod that it starts for some seconds if asked to; it never repairs.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/internal/kube"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Level is the severity of a finding.
type Level string

// Levels. Runs work with warnings, though not as well; with a failure they do not.
const (
	OK   Level = "ok"
	Warn Level = "warn"
	Fail Level = "fail"
)

// Line is one finding.
type Line struct {
	Check  string `json:"check"` // what was checked
	Level  Level  `json:"level"`
	Says   string `json:"says"`
	Remedy string `json:"remedy,omitempty"` // what to do, on every line that is not ok

	hidden bool // the account may not read it
}

// Options configures the checks.
type Options struct {
	Namespace string           // where the runs would live
	Version   string           // of this bflow
	Prefix    string           // of the images; "" = as the controller's image
	Tag       string           // of the images; "" = as the controller's image
	Reach     []string         // URLs that pods must reach
	Pod       bool             // start a pod that pulls the images and tries the URLs
	Timeout   time.Duration    // for that pod; 0 = two minutes
	Now       func() time.Time // nil = time.Now
}

// Run makes all checks and returns the findings in the order of an installation. A cluster that does not answer is a
// finding; a configuration that cannot be used is an error.
func Run(ctx context.Context, cfg *kube.Config, o Options) ([]Line, error) {
	client, err := kube.New(cfg, "")
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Timeout == 0 {
		o.Timeout = 2 * time.Minute
	}
	d := &doctor{Options: o, client: client, cluster: detect.Cluster{Client: client}}
	lines := d.reachable(ctx)
	if d.api == nil {
		return lines, nil
	}
	for _, look := range d.checks() {
		lines = append(lines, look(ctx)...)
	}
	return mergeHidden(lines), nil
}

// mergeHidden merges the lines of everything that the account may not read into one: for most people that is most of a
// cluster.
func mergeHidden(lines []Line) []Line {
	var out []Line
	var hidden []string
	for _, l := range lines {
		if !l.hidden {
			out = append(out, l)
		} else if !slices.Contains(hidden, l.Check) {
			hidden = append(hidden, l.Check)
		}
	}
	if len(hidden) == 0 {
		return out
	}
	return append(out, warn("access", "nothing, if runs work; else ask an administrator to run bflow doctor",
		"your account may not read: %s", strings.Join(hidden, ", ")))
}

// Failed reports whether a line fails.
func Failed(lines []Line) bool {
	for _, l := range lines {
		if l.Level == Fail {
			return true
		}
	}
	return false
}

type doctor struct {
	Options
	client   *kube.Client
	cluster  detect.Cluster
	api      detect.API
	platform detect.Platform
	nodes    *detect.Nodes      // nil if they may not be read
	deployed *appsv1.Deployment // the controller's Deployment
	images   string             // prefix of the images, from the ConfigMap in the namespace of runs
}

type look func(context.Context) []Line

// checks returns the checks in their order.
func (d *doctor) checks() []look {
	return []look{
		d.clock, d.permissions, d.tekton, d.kueue, d.controller, d.policy, d.namespace, d.podSecurity, d.storage, d.gpus,
		d.queue,
		d.targets, d.pod,
	}
}

func ok(check, format string, args ...any) Line {
	return Line{Check: check, Level: OK, Says: fmt.Sprintf(format, args...)}
}

func warn(check, remedy, format string, args ...any) Line {
	return Line{Check: check, Level: Warn, Says: fmt.Sprintf(format, args...), Remedy: remedy}
}

func fail(check, remedy, format string, args ...any) Line {
	return Line{Check: check, Level: Fail, Says: fmt.Sprintf(format, args...), Remedy: remedy}
}

const bootstrap = "run bflow bootstrap --single-cluster"

// unreadable returns the line of something that could not be read: to lack rights that bflow run does not need is no
// failure.
func unreadable(check string, err error) []Line {
	if apierrors.IsForbidden(err) {
		return []Line{{Check: check, hidden: true}}
	}
	return []Line{fail(check, "check the API server, and try again", "%v", err)}
}

// rootCause drops the prefixes that clients put before a reason.
func rootCause(text string) string {
	if at := strings.LastIndex(text, `": `); at >= 0 {
		return text[at+3:]
	}
	return text
}

// serverMessage returns the message of the API server from an error.
func serverMessage(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Message
	}
	return err.Error()
}

func (d *doctor) get(ctx context.Context, at kube.At) (*unstructured.Unstructured, error) {
	return kube.Get[unstructured.Unstructured](ctx, d.client, at)
}
