package plan

import (
	"path"
	"slices"
	"strings"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/runplan"
)

// releaseLater is left in queries: the release depends on the run id, and collect fills it in.
const releaseLater = "$release"

// asked tells apart what Prometheus is asked: a profile, and what its placeholders stand for.
type asked struct {
	profile *spec.MetricsProfile
	words   string
}

// metricsOf returns what collect asks Prometheus for. Placeholders are replaced, except $release where the release is
// not known before the run. Plans that ask the same share it.
func (p *point) metricsOf(m *spec.MetricsProfile, d *spec.DeploymentSpec, plan *runplan.RunPlan) *runplan.Metrics {
	words := placeholders(d, p.platforms.Named(d.Platform), plan)
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
		Profile: m.Metadata.Name, PrometheusURL: taker.Address("a part of prometheus_url", m.Spec.PrometheusURL),
		VerifyTLS: m.Spec.VerifyTLS, Queries: queries,
		QueryStep: runplan.Duration(m.Spec.QueryStep), QueryTimeout: runplan.Duration(m.Spec.QueryTimeout),
	}
	if len(p.questions) >= maxVariants {
		clear(p.questions)
	}
	p.questions[key] = out
	return out
}

// placeholders are the names of the format, longest first, each followed by what it stands for.
func placeholders(d *spec.DeploymentSpec, where *platform.Platform, plan *runplan.RunPlan) []string {
	release := releaseLater
	if e := plan.Deployment.Endpoint; e != nil && e.MetricsRelease != "" {
		release = e.MetricsRelease
	}
	pods := where.Patterns(&d.Block, release)
	claims, ceph := claimNames(d.Runtime.PVCMounts)
	pool := platform.MatchesNothing
	if len(ceph) > 0 {
		pool = `.*(cephfs|cephfilesystem|filesystem).*|.*[-_.]data[0-9]*.*`
	}
	return []string{
		"$hostpath_filesystem_exclude_regex", "tmpfs|overlay|squashfs|proc|sysfs|devtmpfs|cgroup2",
		"$scheduler_endpoint_regex", pods.SchedulerPort,
		"$modelserver_pod_regex", pods.Server,
		"$hostpath_mount_regex", oneOf(mountFolders(d.Runtime.HostPaths)),
		"$scheduler_pod_regex", pods.Scheduler,
		"$runtime_pvc_regex", oneOf(claims),
		"$ceph_pool_regex", pool,
		"$ceph_pvc_regex", oneOf(ceph),
		"$namespace", plan.Target.Namespace,
		"$release", release,
	}
}

// mountFolders are the host paths and the folders that hold them, longest first.
func mountFolders(hostPaths []platform.HostPath) []string {
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
func claimNames(mounts []platform.PVCMount) (all, ceph []string) {
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
		return platform.MatchesNothing
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
