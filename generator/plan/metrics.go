package plan

import (
	"path"
	"slices"
	"strings"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/tasks/runplan"
)

const (
	// matchesNothing stands where a deployment has no such part.
	matchesNothing = "a^"
	// releaseLater is left in queries: the release depends on the run id, and collect fills it in.
	releaseLater = "$release"
)

// metricsOf returns what collect asks Prometheus for. Placeholders are replaced, except $release where the release is
// not known before the run.
func metricsOf(name string, m *spec.MetricsSpec, d *spec.DeploymentSpec, plan *runplan.RunPlan) *runplan.Metrics {
	replace := placeholders(d, plan)
	queries := make(map[string]string, len(m.Queries))
	for key, q := range m.Queries {
		queries[key] = replace.Replace(q)
	}
	return &runplan.Metrics{
		Profile: name, PrometheusURL: m.PrometheusURL, VerifyTLS: m.VerifyTLS, Queries: queries,
		QueryStep: runplan.Duration(m.QueryStep), QueryTimeout: runplan.Duration(m.QueryTimeout),
	}
}

// placeholders replaces the names of the format, longest first.
func placeholders(d *spec.DeploymentSpec, plan *runplan.RunPlan) *strings.Replacer {
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
	pairs := [][2]string{
		{"$namespace", plan.Target.Namespace}, {"$release", release},
		{"$modelserver_pod_regex", server}, {"$scheduler_pod_regex", scheduler}, {"$scheduler_endpoint_regex", port},
		{"$hostpath_mount_regex", oneOf(mountFolders(d.Runtime.HostPaths))},
		{"$hostpath_filesystem_exclude_regex", "tmpfs|overlay|squashfs|proc|sysfs|devtmpfs|cgroup2"},
		{"$runtime_pvc_regex", oneOf(claims)}, {"$ceph_pvc_regex", oneOf(ceph)}, {"$ceph_pool_regex", pool},
	}
	slices.SortFunc(pairs, func(a, b [2]string) int { return len(b[0]) - len(a[0]) })
	var flat []string
	for _, p := range pairs {
		flat = append(flat, p[0], p[1])
	}
	return strings.NewReplacer(flat...)
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
