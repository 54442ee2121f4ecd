package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"bflow.dev/bflow/report"
)

//go:embed page.html
var markup string

//go:embed style.css
var style string

// view is what the template shows.
type view struct {
	Title    string
	Subtitle string
	Style    template.CSS
	Verdict  pill
	Exit     int
	Facts    []fact
	Reasons  []string
	Headline *headline
	Sections []section
	Version  string
}

// pill is a verdict with its sign, so that colour is never the only difference.
type pill struct{ Word, Sign string }

// fact is a name and a value.
type fact struct{ Name, Value string }

// section is a part of the page.
type section struct {
	ID, Title, Note string
	Tables          []table
	Figures         []figure
	Facts           []fact
	Text            string // preformatted, folded away
	TextTitle       string
}

// figure is a chart with its legend and the numbers behind it.
type figure struct {
	Title, Caption string
	SVG            template.HTML
	Legend         []legendItem
	Table          table
}

type legendItem struct {
	Name, Class string
	Dash        bool
}

// table holds cells; the first row is its head.
type table struct {
	Title string
	Head  []cell
	Rows  [][]cell
}

type cell struct {
	Text, Sub string
	Class     string
	Tip       string
	Pill      *pill
}

// Write writes the page of one run.
func Write(w io.Writer, r *report.Report) error {
	return render(w, runView(r))
}

// Matrix writes one page over several runs, in their order.
func Matrix(w io.Writer, reports ...*report.Report) error {
	return render(w, matrixView(reports))
}

func render(w io.Writer, v view) error {
	t, err := template.New("page").Parse(markup)
	if err != nil {
		return fmt.Errorf("reading the page template: %w", err)
	}
	v.Style = template.CSS(style) //nolint:gosec // our own file
	if err := t.Execute(w, v); err != nil {
		return fmt.Errorf("writing the report page: %w", err)
	}
	return nil
}

func verdictPill(word string) pill {
	signs := map[string]string{"pass": "✓", "fail": "✕", "inconclusive": "?", "invalid": "!"}
	return pill{Word: word, Sign: signs[word]}
}
