package runs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"bflow.dev/bflow/internal/screen"
	"bflow.dev/bflow/runs"
)

// notes are a kind of run: what somebody has measured by hand and written down, by name.
type notes map[string]string

// Find finds a note by its whole name.
func (n notes) Find(_ context.Context, name string) (runs.Run, error) {
	if text, ok := n[name]; ok {
		return note{name: name, text: text}, nil
	}
	return nil, &runs.NotFoundError{Name: name}
}

// List has a row for each note.
func (n notes) List(ctx context.Context, _ bool) (rows []runs.Status, _ error) {
	for _, name := range n.NamesOf(ctx) {
		row := runs.Status{Load: n[name]}
		row.RunID, row.State, row.Attempt = name, "Succeeded", 1
		rows = append(rows, row)
	}
	return rows, nil
}

// NamesOf are the names of all notes.
func (n notes) NamesOf(context.Context) []string { return slices.Sorted(maps.Keys(n)) }

// note is one of them.
type note struct{ name, text string }

func (n note) Names() []string { return []string{n.name} }

func (n note) Status(context.Context) (runs.View, error) {
	return runs.View{Value: n.text, Table: func(w io.Writer, _ screen.Screen) error {
		_, err := fmt.Fprintf(w, "Note: %s\n", n.text)
		return err
	}}, nil
}

func (n note) Follow(context.Context, runs.Console) (int, error) { return 0, nil }

func (n note) Logs(_ context.Context, on runs.Console, _ runs.LogOptions) error {
	_, err := fmt.Fprintf(on.Err, "%s has no logs: it was written by hand\n", n.name)
	return err
}

func (n note) Cancel(context.Context, bool) (string, error) {
	return "", fmt.Errorf("cancelling %s: it has ended", n.name)
}

func (n note) Rerun(context.Context, runs.Console, runs.RerunOptions) (int, error) {
	return 0, fmt.Errorf("running %s again: nobody has written down its plan", n.name)
}

func (n note) Delete(context.Context, runs.Console, runs.DeleteOptions) error {
	return errors.New("deleting a note: take an eraser")
}

func (n note) Results(context.Context, runs.Console) (runs.Results, error) {
	return runs.Results{}, fmt.Errorf("reading the results of %s: there are none but the note", n.name)
}

// The registry finds a run of any kind by its name.
func ExampleRegistry() {
	kinds := runs.Registry{Local: []runs.Kind{notes{"monday": "12 requests a second", "tuesday": "14"}}}
	run, err := kinds.Find(context.Background(), "monday", runs.Where{Local: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	view, _ := run.Status(context.Background())
	_ = view.Table(os.Stdout, screen.Screen{})
	_, err = kinds.Find(context.Background(), "wednesday", runs.Where{Local: true})
	fmt.Println(err)
	// Output:
	// Note: 12 requests a second
	// looking for run "wednesday": no such run; see bflow list
}
