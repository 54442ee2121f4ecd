package runs_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/tasks/step"
)

// place is a kind of run that knows some names, and says why it does not know others.
type place struct {
	notes
	missing error             // where a name is not known
	kept    map[string]string // folders by name
	left    notes             // of deleted runs
	broken  error             // of a list
}

func (p place) Find(ctx context.Context, name string) (runs.Run, error) {
	run, err := p.notes.Find(ctx, name)
	if err != nil && p.missing != nil {
		return nil, p.missing
	}
	return run, err
}

func (p place) List(ctx context.Context, all bool) ([]runs.Status, error) {
	rows, _ := p.notes.List(ctx, all)
	return rows, p.broken
}

func (p place) Kept(name string) (string, bool) {
	dir, ok := p.kept[name]
	return dir, ok
}

func (p place) FindLeft(ctx context.Context, name string) (runs.Run, error) {
	return p.left.Find(ctx, name)
}

// several is a run that stands for two others.
type several struct{ note }

func (s several) Points() (int, string) { return 2, s.name + "-1" }

// matrices is a kind with one matrix.
type matrices struct{ notes }

func (matrices) Find(_ context.Context, name string) (runs.Run, error) {
	if name != "sweep" {
		return nil, &runs.NotFoundError{Name: name}
	}
	return several{note{name: name}}, nil
}

// starts is a kind whose runs are found by the start of their names.
type starts struct{ notes }

func (s starts) Find(ctx context.Context, name string) (runs.Run, error) {
	for _, whole := range s.NamesOf(ctx) {
		if strings.HasPrefix(whole, name) {
			return s.notes.Find(ctx, whole)
		}
	}
	return nil, &runs.NotFoundError{Name: name}
}

var (
	anywhere = runs.Where{Local: true, Cluster: true}
	here     = runs.Where{Local: true}
	there    = runs.Where{Cluster: true}
)

func TestARunIsLookedForHereAndThenOnTheCluster(t *testing.T) {
	none := func(where, why string) error { return &runs.NotFoundError{Name: "x", Where: where, Why: why} }
	away := errors.New("the API server does not answer")
	local := place{notes: notes{"a": "here"}, missing: none("", "no such run among the 1 in /runs; see bflow list")}
	cluster := place{notes: notes{"a": "there", "b": "there"},
		missing: none("on cluster hub", "no such run among the 2 there; see bflow list")}
	for _, row := range []struct {
		title, name string
		where       runs.Where
		unknown     bool  // no cluster is known
		away        error // of the cluster
		want        string
		code        int
	}{
		{title: "what is here is taken first", name: "a", where: anywhere, want: "here"},
		{title: "only the cluster is asked where a person says so", name: "a", where: there, want: "there"},
		{title: "what is not here may be there", name: "b", where: anywhere, want: "there"},
		{title: "nobody speaks of a cluster where none is known", name: "b", where: anywhere, unknown: true,
			code: contract.ExitUsage,
			want: `looking for run "x": no such run among the 1 in /runs; see bflow list`},
		{title: "nor where only this machine is asked", name: "b", where: here, code: contract.ExitUsage,
			want: `looking for run "x": no such run among the 1 in /runs; see bflow list`},
		{title: "both say what they have", name: "x", where: anywhere, code: contract.ExitUsage,
			want: `looking for run "x": no such run among the 1 in /runs; on cluster hub: no such run among the 2 there; ` +
				`see bflow list`},
		{title: "a cluster that is away is no error of usage", name: "x", where: anywhere, away: away,
			code: contract.ExitFail,
			want: `looking for run "x": no such run among the 1 in /runs; and the API server does not answer`},
		{title: "an empty name is nobody's", name: "", where: anywhere, code: contract.ExitUsage,
			want: "the name of the run is empty"},
	} {
		t.Run(row.title, func(t *testing.T) {
			distant := cluster
			if row.away != nil {
				distant.missing = row.away
			}
			kinds := runs.Registry{Local: []runs.Kind{matrices{}, local}, Cluster: []runs.Kind{matrices{}, distant},
				ClusterKnown: !row.unknown}
			run, err := kinds.Find(t.Context(), row.name, row.where)
			if err != nil {
				if !strings.Contains(err.Error(), row.want) || step.Code(err) != row.code {
					t.Errorf("%v, exit code %d; want %q, %d", err, step.Code(err), row.want, row.code)
				}
				return
			}
			if view, _ := run.Status(t.Context()); view.Value != row.want || row.code != 0 {
				t.Errorf("found %v, want %q", view.Value, row.want)
			}
		})
	}
}

func TestAnErrorOfTheClusterKeepsItsType(t *testing.T) {
	kinds := runs.Registry{Local: []runs.Kind{notes{}}, Cluster: []runs.Kind{place{missing: context.Canceled}},
		ClusterKnown: true}
	_, err := kinds.Find(t.Context(), "x", anywhere)
	if !errors.Is(err, context.Canceled) || step.Code(err) != contract.ExitInterrupted {
		t.Errorf("%v, exit code %d", err, step.Code(err))
	}
}

func TestResultsThatAreHereAreAskedForNowhere(t *testing.T) {
	kinds := runs.Registry{Cluster: []runs.Kind{place{kept: map[string]string{"a": "/copies/a"},
		missing: errors.New("it was asked")}}, ClusterKnown: true}
	if dir, err := kinds.Results(t.Context(), runs.Console{}, "a", anywhere); err != nil || dir != "/copies/a" {
		t.Errorf("%q, %v", dir, err)
	}
	if _, err := kinds.Results(t.Context(), runs.Console{}, "a", here); err == nil ||
		!strings.Contains(err.Error(), "no such run") {
		t.Errorf("of this machine alone: %v", err)
	}
}

func TestAnEmptyNameHasNoResults(t *testing.T) {
	kinds := runs.Registry{Local: []runs.Kind{notes{"": "the folder of all runs"}}}
	if _, err := kinds.Results(t.Context(), runs.Console{}, "", here); step.Code(err) != contract.ExitUsage {
		t.Errorf("got %v", err)
	}
}

func TestOneRunIsNoMatrix(t *testing.T) {
	kinds := runs.Registry{Local: []runs.Kind{matrices{}}}
	_, err := kinds.Results(t.Context(), runs.Console{}, "sweep", here)
	var matrix *runs.MatrixError
	if !errors.As(err, &matrix) || step.Code(err) != contract.ExitUsage ||
		err.Error() != "sweep is a matrix of 2 runs; name one of them, such as sweep-1" {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsLeftOfADeletedRunIsFound(t *testing.T) {
	kinds := runs.Registry{Local: []runs.Kind{notes{"a": "here"}},
		Cluster: []runs.Kind{place{left: notes{"a": "left", "b": "left"}}}, ClusterKnown: true}
	for name, want := range map[string]string{"a": "here", "b": "left"} {
		run, err := kinds.FindLeft(t.Context(), name, anywhere)
		if err != nil {
			t.Fatal(err)
		}
		if view, _ := run.Status(t.Context()); view.Value != want {
			t.Errorf("%s: found what is %v, want %s", name, view.Value, want)
		}
	}
	if _, err := kinds.FindLeft(t.Context(), "b", here); err == nil {
		t.Error("the cluster was asked")
	}
	kinds.Local = []runs.Kind{starts{notes{"b-1": "here"}}}
	if run, err := kinds.FindLeft(t.Context(), "b", anywhere); err != nil || run.Names()[0] != "b-1" {
		t.Errorf("a run of this machine that begins so: %v, %v", run, err)
	}
}

func TestAListHasWhatCouldBeListed(t *testing.T) {
	denied := errors.New("you may not")
	rows, err := runs.List(t.Context(), []runs.Kind{notes{"a": ""}, place{notes: notes{"b": ""}, broken: denied},
		notes{"c": ""}}, false)
	if !errors.Is(err, denied) || len(rows) != 2 || rows[1].RunID != "b" {
		t.Errorf("%v, %v", rows, err)
	}
	if rows, err := runs.List(t.Context(), nil, false); rows == nil || err != nil {
		t.Errorf("%v, %v: programs read a list", rows, err)
	}
}
