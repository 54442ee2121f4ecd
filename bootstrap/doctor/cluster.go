package doctor

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
)

// minKubernetes is the first version that enforces our rules for runs.
const minKubernetes = "1.30.0"

// reachable reads the version of the cluster and what it serves; without an answer all other checks are skipped.
func (d *doctor) reachable(ctx context.Context) []Line {
	const check = "cluster"
	api, err := d.cluster.API()
	if err != nil {
		return []Line{fail(check, "check address, credentials, VPN and proxy: --kubeconfig, --context",
			"%s does not answer: %v", d.client.Config.Host, rootCause(err.Error()))}
	}
	d.api = api
	d.platform, err = d.cluster.Platform(ctx, api)
	if d.platform.Kubernetes == "" {
		d.api = nil
		return []Line{fail(check, "check the API server, and try again", "%v", err)}
	}
	says := "Kubernetes " + d.platform.Kubernetes
	if d.platform.IsOpenShift() {
		says = "OpenShift " + d.platform.OpenShift + ", " + says
	}
	if older(d.platform.Kubernetes, minKubernetes) {
		return []Line{warn(check, "update the cluster, or let only bflow create PipelineRuns",
			"%s is older than %s: runs can start without passing their queue", says, minKubernetes)}
	}
	return []Line{ok(check, "%s at %s", says, d.client.Config.Host)}
}

// older compares versions as servers report them; one that cannot be parsed is not older.
func older(have, want string) bool {
	v, err := version.ParseGeneric(have)
	return err == nil && v.LessThan(version.MustParseGeneric(want))
}

// maxSkew is how far clocks may differ: metrics are queried by the time of the load, in windows of seconds.
const maxSkew = 5 * time.Second

// clock compares our clock with that of the API server, which reports whole seconds.
func (d *doctor) clock(ctx context.Context) []Line {
	const check = "clock"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.host()+"/version", nil)
	if err != nil {
		return unreadable(check, err)
	}
	before := d.Now()
	answer, err := d.client.HTTP().Do(request)
	if err != nil {
		return unreadable(check, err)
	}
	after := d.Now()
	_ = answer.Body.Close() // only the header is needed
	theirs, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return []Line{warn(check, "compare the clocks by hand", "the API server does not report its time")}
	}
	return []Line{skewLine(check, "the API server", skew(theirs, before, after, time.Second))}
}

// skew returns how far a time is off that was taken between before and after, and rounded down to a resolution.
func skew(theirs, before, after time.Time, resolution time.Duration) time.Duration {
	switch {
	case theirs.Add(resolution).Before(before):
		return theirs.Add(resolution).Sub(before)
	case theirs.After(after):
		return theirs.Sub(after)
	default:
		return 0
	}
}

func skewLine(check, who string, off time.Duration) Line {
	if off > -maxSkew && off < maxSkew {
		return ok(check, "%s agrees with this machine to %s", who, maxSkew)
	}
	direction := "ahead of"
	if off < 0 {
		direction, off = "behind", -off
	}
	return warn(check, "synchronise both with a time server (chrony, ntp)",
		"%s is %s %s this machine: times in reports will not agree", who, off.Round(time.Second), direction)
}

func (d *doctor) host() string {
	if strings.Contains(d.client.Config.Host, "://") {
		return strings.TrimRight(d.client.Config.Host, "/")
	}
	return fmt.Sprintf("https://%s", d.client.Config.Host)
}
