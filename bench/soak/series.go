package main

import (
	"fmt"
	"slices"
	"time"

	"bflow.dev/bflow/bench/rig"
)

// sample is what the process held at a moment of the load.
type sample struct {
	at time.Duration
	rig.Memory
}

// Limits of the verdict, against the level after the first tenth.
const (
	memoryShare = 0.04 // memory may differ by so much, about 2 MB; a run without a fault stays below 0.01
	fewMore     = 2    // threads and descriptors that may come and go
)

// level is the state after the first tenth, to which all later ones are compared: a maximum over the second tenth, so
// that one sample just after a collection of garbage is no yardstick.
type level struct {
	rss                  int64
	threads, descriptors int
}

// verdict judges samples that were taken at equal distances; it returns one sentence per fault.
func verdict(samples []sample) (base level, faults []string, err error) {
	const least = 20
	if len(samples) < least {
		return base, nil, fmt.Errorf("only %d samples, want %d: the load was too short", len(samples), least)
	}
	tenth := len(samples) / 10
	base = highest(samples[tenth : 2*tenth])
	rest := samples[2*tenth:]
	// A tenth at a time: the saw-tooth of the garbage collector is no growth, its rising peaks are.
	for part := range slices.Chunk(rest, tenth) {
		if len(part) < tenth {
			continue
		}
		now := highest(part)
		if d := float64(now.rss)/float64(base.rss) - 1; d > memoryShare || d < -memoryShare {
			faults = append(faults, fmt.Sprintf(
				"memory after %v is %+.1f %% off that after the first tenth", part[0].at.Round(time.Second), 100*d))
		}
	}
	end := highest(rest[len(rest)-tenth:])
	if end.threads > base.threads+fewMore {
		faults = append(faults, fmt.Sprintf("threads grew from %d to %d", base.threads, end.threads))
	}
	if end.descriptors > base.descriptors+fewMore {
		faults = append(faults, fmt.Sprintf("descriptors grew from %d to %d", base.descriptors, end.descriptors))
	}
	return base, faults, nil
}

func highest(samples []sample) level {
	var l level
	for _, s := range samples {
		l.rss = max(l.rss, s.RSS)
		l.threads, l.descriptors = max(l.threads, s.Threads), max(l.descriptors, s.Descriptors)
	}
	return l
}
