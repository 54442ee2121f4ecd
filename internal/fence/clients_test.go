package fence

import (
	"slices"
	"strings"
	"testing"
)

// makers are the packages of client-go that make clients of clusters, or find out where one is.
var makers = []string{
	"k8s.io/client-go/kubernetes", "k8s.io/client-go/dynamic", "k8s.io/client-go/metadata", "k8s.io/client-go/rest",
	"k8s.io/client-go/tools/clientcmd", "k8s.io/client-go/tools/watch",
}

// speakers are the folders whose packages may use makers, each with its reason.
var speakers = map[string]string{
	"internal/kube":           "the client of the command line",
	"queue":                   "controllers have clients and caches of controller-runtime",
	"tasks/provision/cluster": "a step has a lighter client: its doc.go says what the other would cost",
	"internal/apitest":        "says where its server is",
	"bench":                   "measures with clients of its own, whose pace it sets",
}

// TestOneClientSpeaksWithClusters: errors are explained, watches resumed and requests bounded in one place.
func TestOneClientSpeaksWithClusters(t *testing.T) {
	used := map[string]bool{}
	for _, found := range list(t, "{{range .Imports}}{{$.ImportPath}}={{.}}\n{{end}}", "./...") {
		pkg, dep, _ := strings.Cut(found, "=")
		if !slices.Contains(makers, dep) {
			continue
		}
		folder := speakerOf(strings.TrimPrefix(pkg, module))
		if used[folder] = true; folder == "" {
			t.Errorf("%s must not import %s: package internal/kube has the client of a cluster", pkg, dep)
		}
	}
	for folder := range speakers {
		if !used[folder] {
			t.Errorf("%s is excused and makes no client: remove the line", folder)
		}
	}
}

// speakerOf is the folder of speakers that a package lies in, "" for none.
func speakerOf(pkg string) string {
	for folder := range speakers {
		if pkg == folder || strings.HasPrefix(pkg, folder+"/") {
			return folder
		}
	}
	return ""
}

func TestWhoMayMakeClients(t *testing.T) {
	for pkg, want := range map[string]string{
		"queue/target/remote": "queue", "internal/kube": "internal/kube",
		"runs/cluster": "", "queues": "", "tasks/provision": "",
	} {
		if got := speakerOf(pkg); got != want {
			t.Errorf("%s: %q, want %q", pkg, got, want)
		}
	}
}
