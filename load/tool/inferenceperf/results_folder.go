package inferenceperf

import (
	"path/filepath"
	"regexp"
	"strconv"

	"bflow.dev/bflow/report/tools"
)

// folderFiles are the documents of one run of the tool, sorted out.
type folderFiles struct {
	summary  *tools.Document
	stages   map[int]tools.Document
	requests *tools.Document
	config   *tools.Document
}

// folderOf is where the results of one run lie: a folder, and in it what stands before the names of the tool.
type folderOf struct{ folder, prefix string }

// sortOut returns the runs that the documents are of, in the order of their first files: those that have results. Every
// run of the tool gives its files the same names, so that their folders tell them apart.
func sortOut(docs []tools.Document) []*folderFiles {
	resultName := regexp.MustCompile(`^((?:.*[-_])?)(?:stage_(\d+)|summary|per_request)_lifecycle_metrics\.json$`)
	var order []folderOf
	byPlace := map[folderOf]*folderFiles{}
	in := func(place folderOf) *folderFiles {
		if byPlace[place] == nil {
			byPlace[place] = &folderFiles{stages: map[int]tools.Document{}}
			order = append(order, place)
		}
		return byPlace[place]
	}
	configs := map[string]*tools.Document{}
	for i := range docs {
		folder, base := filepath.Split(docs[i].Path)
		place := folderOf{folder: folder}
		match := resultName.FindStringSubmatch(base)
		if match != nil {
			place.prefix = match[1]
		}
		switch {
		case base == fileConfig:
			configs[folder] = &docs[i]
		case match != nil && match[2] != "":
			if n, err := strconv.Atoi(match[2]); err == nil {
				in(place).stages[n] = docs[i]
			}
		case looksPerRequest(docs[i]):
			in(place).requests = &docs[i]
		case Looks(docs[i]):
			if in(place).summary != nil { // of another run, which somebody has put beside it
				place.prefix = base
			}
			in(place).summary = &docs[i]
		}
	}
	return withResults(order, byPlace, configs)
}

// withResults are the runs that have results, each with its configuration. Where there is one alone, all that was given
// is of it, wherever it lies.
func withResults(
	order []folderOf, byPlace map[folderOf]*folderFiles, configs map[string]*tools.Document,
) []*folderFiles {
	var found []*folderFiles
	for _, place := range order {
		if f := byPlace[place]; f.summary != nil || len(f.stages) > 0 {
			f.config = configs[place.folder]
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		return found
	}
	for _, f := range byPlace {
		if found[0].requests == nil {
			found[0].requests = f.requests
		}
	}
	for _, c := range configs {
		if found[0].config == nil {
			found[0].config = c
		}
	}
	return found
}
