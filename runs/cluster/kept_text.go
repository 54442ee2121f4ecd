package cluster

import (
	"context"
	"fmt"
	"io"
	"strings"

	"bflow.dev/bflow/internal/kube"

	"k8s.io/apimachinery/pkg/api/resource"
)

// PrintKept says what ended runs of some namespaces keep, of all where none is named. Who may not see it is told so.
func PrintKept(ctx context.Context, w io.Writer, cfg *kube.Config, namespaces []string) {
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	c, err := Connect(ctx, cfg, "")
	var all []Kept
	for _, n := range namespaces {
		if err != nil {
			break
		}
		var kept []Kept
		kept, err = c.Kept(ctx, n)
		all = append(all, kept...)
	}
	if err != nil {
		fmt.Fprintf(w, "warning: what ended runs keep could not be determined: %v\n", err)
		return
	}
	fmt.Fprint(w, keptText(all))
}

// keptText says what is kept, what of it could go, and what has to be fetched before.
func keptText(all []Kept) string {
	var free, needed []Kept
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
	fmt.Fprintf(&out, "kept by %s that %s ended: %s\n", counted(len(all), "run"), verb(len(all)), amount(all))
	if len(free) > 0 {
		fmt.Fprintf(&out, "  %s: the results were fetched, pushed or gathered; --keep-volumes of bflow bootstrap "+
			"sets how long they are kept; delete them now with bflow delete %s\n", amount(free), namesOf(free))
	}
	if len(needed) > 0 {
		fmt.Fprintf(&out, "  %s: the results exist only there; fetch them with bflow fetch %s", amount(needed), needed[0].Run)
		if more := needed[1:]; len(more) > 0 { // it takes one run at a time
			fmt.Fprintf(&out, ", likewise %s", namesOf(more))
		}
		fmt.Fprintln(&out)
	}
	return out.String()
}

func verb(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}

func amount(all []Kept) string {
	var pods, volumes int
	var bytes int64
	for _, k := range all {
		pods, volumes, bytes = pods+k.Pods, volumes+k.Volumes, bytes+k.Bytes
	}
	if volumes == 0 {
		return counted(pods, "pod")
	}
	return fmt.Sprintf("%s and %s of %s", counted(pods, "pod"), counted(volumes, "volume"),
		resource.NewQuantity(bytes, resource.BinarySI))
}

// namesOf are some of the names of runs.
func namesOf(all []Kept) string {
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

// counted is "1 run", "2 runs".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
