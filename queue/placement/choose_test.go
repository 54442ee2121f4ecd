package placement

import (
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	for _, row := range []struct {
		name    string
		current string
		chosen  bool
		places  []Place
		want    string
		why     string
	}{
		{name: "a run that names a label goes where the fewest wait", current: "any",
			places: []Place{{Name: "a", Waiting: 3}, {Name: "b", Waiting: 1}}, want: "b", why: "the fewest wait there: 1"},
		{name: "a warm one is preferred", current: "any",
			places: []Place{{Name: "a", Free: true}, {Name: "b", Waiting: 1, Warm: true}}, want: "b", why: "weights"},
		{name: "among equals the one that is named first", current: "b",
			places: []Place{{Name: "a", Wish: 1}, {Name: "b", Wish: 0}}, want: "b", why: "nobody waits there"},
		{name: "one with free devices before one without", current: "a",
			places: []Place{{Name: "a", Wish: 0}, {Name: "b", Wish: 1, Free: true}}, want: "b", why: "its devices are free"},
		{name: "who was chosen once stays though another is as good", current: "a", chosen: true,
			places: []Place{{Name: "a", Waiting: 2}, {Name: "b", Waiting: 1}}, want: "a"},
		{name: "a target that is away is left", current: "a", chosen: true,
			places: []Place{{Name: "a", Unfit: "is away"}, {Name: "b", Waiting: 9}}, want: "b", why: `target "a" is away`},
		{name: "where none can, it stays", current: "a", chosen: true,
			places: []Place{{Name: "a", Unfit: "is away"}, {Name: "b", Unfit: "is too small"}}, want: "a"},
		{name: "a target with nothing to do takes a run that waits", current: "a", chosen: true,
			places: []Place{{Name: "a", Waiting: 1, Warm: true}, {Name: "b", Free: true}}, want: "b",
			why: "its devices are free"},
		{name: "and not one that is the next where there is room", current: "a", chosen: true,
			places: []Place{{Name: "a", Free: true}, {Name: "b", Free: true, Warm: true}}, want: "a"},
		{name: "a target that is gone is left", current: "x", chosen: true,
			places: []Place{{Name: "a", Waiting: 1}}, want: "a", why: "the fewest wait there: 1"},
		{name: "nothing to choose from", current: "any", want: "any"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := Choose(row.current, row.chosen, row.places)
			if got.Name != row.want || !strings.Contains(got.Why, row.why) || row.why == "" && got.Why != "" {
				t.Errorf("got %+v", got)
			}
		})
	}
}
