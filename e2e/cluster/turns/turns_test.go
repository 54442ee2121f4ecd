package turns_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"bflow.dev/bflow/e2e/cluster/turns"
)

var (
	share       = turns.Need{Hub: turns.Share}
	twoRuns     = turns.Need{Hub: turns.Share, Runs: 2}
	manyRuns    = turns.Need{Hub: turns.Share, Runs: 9}
	rough       = turns.Need{Hub: turns.Rough}
	whole       = turns.Need{Hub: turns.Whole}
	every       = turns.Need{Hub: turns.Every, Worker: turns.Whole}
	shareWorker = turns.Need{Hub: turns.Share, Worker: turns.Share}
	wholeWorker = turns.Need{Hub: turns.Share, Worker: turns.Whole}
)

// asked is a need that has been put to a pool.
type asked struct {
	got     []int
	release func()
}

func ask(p *turns.Pool, n turns.Need) *asked {
	a := &asked{}
	go func() {
		hubs, release := p.Take(n)
		a.got, a.release = hubs, release
	}()
	synctest.Wait()
	return a
}

func TestTurns(t *testing.T) {
	for _, row := range []struct {
		name   string
		hubs   int
		have   []turns.Need
		free   int // this of them is given back before next asks; -1 for none
		next   turns.Need
		want   []int // hubs that next gets at once; nil: it waits
		unless []int // numbers of have that must be waiting
	}{
		{"the first share is of the first hub", 2, nil, -1, share, []int{0}, nil},
		{"the next share is of the hub with fewer", 2, []turns.Need{share}, -1, share, []int{1}, nil},
		{"no more shares than may be", 1, []turns.Need{share, share}, -1, share, nil, nil},
		{"no more runs than may be", 1, []turns.Need{share}, -1, twoRuns, nil, nil},
		{"too many runs are alone with shares that are to come", 1, []turns.Need{manyRuns}, -1, share, nil, nil},
		{"too many runs have a hub where nothing is", 1, []turns.Need{share}, 0, manyRuns, []int{0}, nil},
		{"the first whole hub is the last one", 2, nil, -1, whole, []int{1}, nil},
		{"a whole hub is not one with a share out", 1, []turns.Need{share}, -1, whole, nil, nil},
		{"a share is not of a hub that is taken whole", 1, []turns.Need{whole}, -1, share, nil, nil},
		{"who waits for a whole hub keeps shares from the last one", 2, []turns.Need{share, share, whole}, -1, share,
			[]int{0}, []int{2}},
		{"another whole hub is the first one where nobody wants a share", 2, []turns.Need{whole}, -1, whole, []int{0}, nil},
		{"what is given back goes on", 1, []turns.Need{whole}, 0, whole, []int{0}, nil},
		{"every hub waits for one that is taken whole", 2, []turns.Need{whole}, -1, every, nil, nil},
		{"rough ones are beside each other", 1, []turns.Need{rough}, -1, rough, []int{0}, nil},
		{"rough ones are not beside shares", 1, []turns.Need{share}, -1, rough, nil, nil},
		{"shares are not beside rough ones", 1, []turns.Need{rough}, -1, share, nil, nil},
		{"rough ones keep off who wants a whole hub", 1, []turns.Need{rough}, -1, whole, nil, nil},
		{"every hub waits for the rough ones", 2, []turns.Need{rough}, -1, every, nil, nil},
		{"every hub goes beside shares", 2, []turns.Need{share, share}, -1, every, []int{0, 1}, nil},
		{"the worker is shared", 2, []turns.Need{shareWorker}, -1, shareWorker, []int{1}, nil},
		{"the whole worker waits for its shares", 2, []turns.Need{shareWorker}, -1, wholeWorker, nil, nil},
		{"the worker is kept for who waits for all of it", 2, []turns.Need{shareWorker, wholeWorker}, -1,
			shareWorker, nil, []int{1}},
		{"what needs no worker does not wait for it", 2, []turns.Need{wholeWorker}, -1, share, []int{1}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := turns.New(row.hubs, 2)
				p.Begin()
				var all []*asked
				for _, n := range row.have {
					all = append(all, ask(p, n))
				}
				if row.free >= 0 {
					all[row.free].release()
				}
				for i, a := range all {
					if waits := a.got == nil; waits != slices.Contains(row.unless, i) {
						t.Fatalf("request %d waits: %v", i, waits)
					}
				}
				next := ask(p, row.next)
				if !slices.Equal(next.got, row.want) {
					t.Errorf("it got %v, want %v", next.got, row.want)
				}
				for _, a := range append(all, next) { // whoever waits gets its turn
					synctest.Wait()
					if a.release != nil {
						a.release()
					}
				}
				for _, a := range append(all, next) {
					if synctest.Wait(); a.got == nil {
						t.Error("somebody was forgotten")
					} else {
						a.release()
					}
				}
			})
		})
	}
}

func TestTheHardestToServeIsTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := turns.New(1, 2)
		one, all := ask(p, whole), ask(p, every)
		p.Begin()
		if synctest.Wait(); one.got != nil || all.got == nil {
			t.Errorf("whole %v, every %v", one.got, all.got)
		}
		all.release()
		synctest.Wait()
		one.release()
	})
}

// TestNobodyIsBesideAWholeHub with many that ask at once.
func TestNobodyIsBesideAWholeHub(t *testing.T) {
	p := turns.New(2, 3)
	p.Begin()
	var mu sync.Mutex
	in := [2]turns.Need{}
	var beside [2]int
	var all sync.WaitGroup
	for i := range 300 {
		need := []turns.Need{share, whole, every, wholeWorker, rough}[i%5]
		all.Go(func() {
			hubs, release := p.Take(need)
			defer release()
			mu.Lock()
			for _, h := range hubs {
				alone := func(n turns.Need) bool { return n.Hub == turns.Whole }
				differ := (need.Hub == turns.Rough) != (in[h].Hub == turns.Rough)
				if beside[h] > 0 && (alone(need) || alone(in[h]) || differ) {
					t.Errorf("%+v beside %+v", need, in[h])
				}
				beside[h]++
				in[h] = need
			}
			mu.Unlock()
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				for _, h := range hubs {
					beside[h]--
				}
			}()
		})
	}
	all.Wait()
}
