package plan

import (
	"path"
	"slices"
	"strings"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/runplan"
)

const (
	// matchesNothing stands where a deployment has no such part.
	matchesNothing = "a^"
	// releaseLater is left in queries: the release depends on the run id, and collect fills it in.
	releaseLater = "$release"
)

// asked tells apart what Prometheus is asked: a profile, and what its placeholders stand for.
type asked struct {
	profile *spec.MetricsProfile
	words   string
}

// metricsOf returns what collect asks Prometheus for. Placeholders are replaced, except $release where the release is
// not known before the run. Plans that ask the same share it.
func (p *point) metricsOf(m *spec.MetricsProfile, d *spec.DeploymentSpec, plan *runplan.RunPlan) *runplan.Metrics {
	words := placeholders(d, plan)
	key := asked{m, strings.Join(words, "\x00")}
	if known := p.questions[key]; known != nil {
		return known
	}
	taker := p.taker("metrics_profile")
	defer func() { p.keep(taker.Taken) }()
	replace := strings.NewReplacer(words...)
	queries := make(map[string]string, len(m.Spec.Queries))
	for name, q := range m.Spec.Queries {
		queries[name] = replace.Replace(q)
	}
	out := &runplan.Metrics{
		Profile: m.Metadata.Name, PrometheusURL: taker.Address("a part of prometheus_url", m.Spec.PrometheusURL), VerifyTLS: m.Spec.VerifyTLS, Queries: queries,
		QueryStep: runplan.Duration(m.Spec.QueryStep), QueryTimeout: runplan.Duration(m.Spec.QueryTimeout),
	}
	if len(p.questions) >= maxVariants {
		clear(p.questions)
	}
	p.questions[key] = out
	return out
}

// placeholders are the names of the format, longest first, each followed by what it stands for.
func placeholders(d *spec.DeploymentSpec, plan *runplan.RunPlan) []string {
	release := releaseLater
	if e := plan.Deployment.Endpoint; e != nil && e.MetricsRelease != "" {
		release = e.MetricsRelease
	}
	server, scheduler, port := podPatterns(d, release)
	claims, ceph := claimNames(d.Runtime.PVCMounts)
	pool := matchesNothing
	if len(ceph) > 0 {
		pool = `.*(cephfs|cephfilesystem|filesystem).*|.*[-_.]data[0-9]*.*`
	}
	return []string{
		"$hostpath_filesystem_exclude_regex", "tmpfs|overlay|squashfs|proc|sysfs|devtmpfs|cgroup2",
		"$scheduler_endpoint_regex", port,
		"$modelserver_pod_regex", server,
		"$hostpath_mount_regex", oneOf(mountFolders(d.Runtime.HostPaths)),
		"$scheduler_pod_regex", scheduler,
		"$runtime_pvc_regex", oneOf(claims),
		"$ceph_pool_regex", pool,
		"$ceph_pvc_regex", oneOf(ceph),
		"$namespace", plan.Target.Namespace,
		"$release", release,
	}
}

// podPatterns match the pods of the model server, those of the endpoint picker, and its metrics port.
func podPatterns(d *spec.DeploymentSpec, release string) (server, scheduler, port string) {
	anything := ".*" + release + ".*"
	switch {
	case d.Platform == llmd && oldLayout(d.RepoRef):
		return anything, anything, "(metrics|http-metrics)"
	case d.Platform == llmd:
		return "ms-" + release + "-.*", "gaie-" + release + "-epp.*", "(metrics|http-metrics)"
	case llmService(d):
		return anything, ".*" + release + ".*router-scheduler.*", "metrics"
	}
	return anything, matchesNothing, matchesNothing
}

// mountFolders are the host paths and the folders that hold them, longest first.
func mountFolders(hostPaths []spec.HostPath) []string {
	var folders []string
	for _, h := range hostPaths {
		for _, folder := range []string{path.Clean(h.HostPath), path.Dir(path.Clean(h.HostPath))} {
			if folder != "/" && !slices.Contains(folders, folder) {
				folders = append(folders, folder)
			}
		}
	}
	slices.SortStableFunc(folders, func(a, b string) int { return len(b) - len(a) })
	return folders
}

// claimNames are the claims that are mounted, and those of them that may lie on Ceph.
func claimNames(mounts []spec.PVCMount) (all, ceph []string) {
	for _, m := range mounts {
		all = append(all, m.ClaimName)
		class := strings.ToLower(m.StorageClass)
		if class == "" || strings.Contains(class, "ceph") || strings.Contains(class, "rook") {
			ceph = append(ceph, m.ClaimName)
		}
	}
	return all, ceph
}

// oneOf is a pattern that matches exactly the words, or nothing without words.
func oneOf(words []string) string {
	if len(words) == 0 {
		return matchesNothing
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = literally(w)
	}
	return "^(" + strings.Join(quoted, "|") + ")$"
}

// literally escapes by character classes: a backslash would need another one inside a PromQL string.
func literally(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '^' || r == '\\':
			b.WriteString(`\\` + string(r))
		case strings.ContainsRune(`.+*?()|[]{}$`, r):
			b.WriteString("[" + string(r) + "]")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
