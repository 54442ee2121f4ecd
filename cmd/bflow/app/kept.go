package app

import (
	"context"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/rest"

	clusterrun "bflow.dev/bflow/runs/cluster"
)

// tellKept says what ended runs of some namespaces keep, "" for all of them. Who may not see it is told so.
func tellKept(ctx context.Context, w io.Writer, cfg *rest.Config, namespaces []string) {
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	cluster, err := clusterrun.Connect(ctx, cfg, "")
	var all []clusterrun.Kept
	for _, n := range namespaces {
		if err != nil {
			break
		}
		var kept []clusterrun.Kept
		kept, err = cluster.Kept(ctx, n)
		all = append(all, kept...)
	}
	if err != nil {
		fmt.Fprintf(w, "warning: what ended runs keep could not be determined: %v\n", err)
		return
	}
	fmt.Fprint(w, keptText(all))
}

// keptText says what is kept, what of it could go, and what has to be fetched before.
func keptText(all []clusterrun.Kept) string {
	var free, needed []clusterrun.Kept
	for _, k := range all {
		switch {
		case k.Volumes == 0:
		case k.Saved:
			free = append(free, k)
		default:
			needed = append(needed, k)
		}
	}
	if len(all) == 0 {
		return "no ended run keeps a pod or a volume\n"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "kept by %s that %s ended: %s\n", counted(len(all), "run"), have(len(all)), amount(all))
	if len(free) > 0 {
		fmt.Fprintf(&out, "  %s: the results were fetched, pushed or gathered; --keep-volumes of bflow bootstrap says how long they stay, bflow delete %s\n", amount(free), names(free))
	}
	if len(needed) > 0 {
		fmt.Fprintf(&out, "  %s: the results exist only there; fetch them with bflow fetch %s", amount(needed), needed[0].Run)
		if more := needed[1:]; len(more) > 0 { // it takes one run at a time
			fmt.Fprintf(&out, ", likewise %s", names(more))
		}
		fmt.Fprintln(&out)
	}
	return out.String()
}

func have(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}

func amount(all []clusterrun.Kept) string {
	var pods, volumes int
	var bytes int64
	for _, k := range all {
		pods, volumes, bytes = pods+k.Pods, volumes+k.Volumes, bytes+k.Bytes
	}
	if volumes == 0 {
		return counted(pods, "pod")
	}
	return fmt.Sprintf("%s and %s of %s", counted(pods, "pod"), counted(volumes, "volume"), resource.NewQuantity(bytes, resource.BinarySI))
}

// names are some of those of runs.
func names(all []clusterrun.Kept) string {
	const most = 3
	var out []string
	for _, k := range all[:min(most, len(all))] {
		out = append(out, k.Run)
	}
	if more := len(all) - most; more > 0 {
		return fmt.Sprintf("%s (and %d more)", strings.Join(out, " "), more)
	}
	return strings.Join(out, " ")
}
