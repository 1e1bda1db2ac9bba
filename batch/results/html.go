package results

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gpfit/batch/rundir"
	"gpfit/internal/plotting"
)

//go:embed report.html
var pageText string

var page = template.Must(template.New("report").Parse(pageText))

// pageData is the data of report.html.
type pageData struct {
	Title, States, Program, Created, Dir string
	Rows, Failed, Verdicts               []Row
	Metrics                              []Measure
	Sets                                 []setData
	Pairs                                []PairedComparison
	Jobs                                 []jobData
	Inputs                               []rundir.Input
}

// setData is a data set with its plots and the scores of its kernels.
type setData struct {
	Name      string
	Plots     []template.HTML
	Standings []standingData
}

type standingData struct {
	Standing
	Cells []string
}

type jobData struct {
	Row
	Cells      []string
	Parameters string
	Relevant   string
}

// WriteHTML writes the report of a run as one HTML page that includes its plots.
func WriteHTML(w io.Writer, r *rundir.Run, rows []Row) error {
	metrics := Metrics(rows)
	d := pageData{
		Title: r.Name, States: StateText(rows), Program: r.Program, Created: r.Created.Format(time.DateTime) + " UTC", Dir: r.Dir,
		Rows: rows, Metrics: metrics, Inputs: r.Inputs,
	}
	if d.Title == "" {
		d.Title = filepath.Base(r.Dir)
	}
	for _, row := range rows {
		if row.State == string(rundir.StateFailed) {
			d.Failed = append(d.Failed, row)
		}
		if row.Verdict != "" {
			d.Verdicts = append(d.Verdicts, row)
		}
		d.Jobs = append(d.Jobs, newJobData(row))
	}
	if len(metrics) > 0 {
		d.Pairs = Compare(rows, metrics)
		standings := Rank(rows, metrics)
		for _, name := range names(rows, func(r Row) string { return r.Data }) {
			set, err := newSetData(name, rows, metrics, standings)
			if err != nil {
				return err
			}
			if len(set.Standings) > 0 {
				d.Sets = append(d.Sets, set)
			}
		}
	}
	return page.Execute(w, d)
}

func newJobData(r Row) jobData {
	d := jobData{Row: r, Relevant: r.mostRelevant(), Cells: []string{
		number(r.NLML, "%.4f"), number(r.RMSE, "%.5g"), number(r.NLPD, "%.4f"), percent(r.Coverage95), whole(r.Values), whole(r.Gradients), number(r.Seconds, "%.2f"),
	}}
	var parameters map[string]float64
	if json.Unmarshal([]byte(r.Parameters), &parameters) == nil {
		var parts []string
		for name, v := range parameters {
			parts = append(parts, fmt.Sprintf("%s %.4g", name, v))
		}
		slices.Sort(parts)
		d.Parameters = strings.Join(parts, ", ")
	}
	return d
}

func newSetData(name string, rows []Row, metrics []Measure, standings []Standing) (setData, error) {
	set := setData{Name: name}
	for _, s := range standings {
		if s.Data != name {
			continue
		}
		c := standingData{Standing: s}
		for _, m := range metrics {
			text := "-"
			if v, ok := s.Means[m.Name]; ok {
				text = fmt.Sprintf("%.4f", v)
			}
			c.Cells = append(c.Cells, text)
		}
		c.Cells = append(c.Cells, fmt.Sprintf("%.4f", s.StdErr), percent(s.Coverage95), fmt.Sprintf("%.2f", s.Seconds))
		set.Standings = append(set.Standings, c)
	}
	if len(set.Standings) == 0 {
		return set, nil
	}
	seconds := Measure{"seconds", "seconds of a fit", func(r Row) *float64 { return r.Seconds }}
	kernels := names(rows, func(r Row) string { return r.Kernel })
	for _, m := range append(slices.Clone(metrics), seconds) {
		plot := plotting.Dots{Title: m.Title, XLabel: "less is better; each ring is a job, the bar is the mean"}
		for _, s := range set.Standings {
			row := plotting.DotRow{Name: s.Kernel, Group: slices.Index(kernels, s.Kernel)}
			for _, r := range rows {
				if v := m.Of(r); r.Data == name && r.Kernel == s.Kernel && v != nil {
					row.Values = append(row.Values, *v)
				}
			}
			plot.Rows = append(plot.Rows, row)
		}
		svg, err := plot.SVG()
		if err != nil {
			return set, err
		}
		// The plot has already escaped its texts.
		set.Plots = append(set.Plots, template.HTML(svg))
	}
	return set, nil
}
