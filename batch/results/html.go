package results

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"gpfit/batch/rundir"
	"gpfit/fit/fields"
	"gpfit/fit/summary"
	"gpfit/internal/score"
	"gpfit/internal/textform"
	"gpfit/show/page"
	"gpfit/show/plotting"
)

// WriteHTML writes the report of a run as one HTML page that includes its plots. The page
// names files without their folders, so that it can be passed on.
func WriteHTML(w io.Writer, r *rundir.Run, rows []Row) error {
	rows = shortened(rows)
	few, remark := listed(rows)
	p := &page.Page{
		Title: r.Name, Headline: Headline(rows),
		About: fmt.Sprintf("%d jobs: %s. The run %s was created by %s on %s UTC.", len(rows), StateText(rows), filepath.Base(r.Dir), r.Program, r.Created.UTC().Format(time.DateTime)),
	}
	if remark != "" {
		p.About += " Tables of jobs list " + remark + "."
	}
	p.Title = cmp.Or(p.Title, filepath.Base(r.Dir))
	p.Sections = append(p.Sections, failures(few, known(r)))
	if metrics := Metrics(rows); len(metrics) > 0 {
		standings := Rank(rows, metrics)
		for _, name := range names(rows, func(r Row) string { return r.Data }) {
			set, err := dataSet(name, rows, metrics, standings)
			if err != nil {
				return err
			}
			p.Sections = append(p.Sections, set)
		}
		p.Sections = append(p.Sections, pairs(Compare(rows, metrics)))
	}
	p.Sections = append(p.Sections, choices(few), verdicts(few, known(r)), calibration(rows), parameters(rows), jobs(few, remark), inputs(r))
	return p.Write(w)
}

// known returns the paths that texts of a run may name.
func known(r *rundir.Run) []string {
	paths := []string{r.SpecPath}
	if dir, err := filepath.Abs(r.Dir); err == nil {
		paths = append(paths, filepath.Join(dir, "jobs"), dir)
	}
	for _, in := range r.Inputs {
		paths = append(paths, in.Path)
	}
	return paths
}

// bad reports whether a job failed or is damaged.
func bad(r Row) bool {
	return r.State == string(rundir.StateFailed) || r.State == string(rundir.StateDamaged)
}

// failures lists the jobs that failed or are damaged.
func failures(rows []Row, known []string) page.Section {
	grid := fields.Table{Heads: append(fields.Words("job", "kind"), fields.Head{Text: "error", Words: true, Wrap: true})}
	for _, r := range rows {
		if bad(r) {
			grid.Add(r.Job, cmp.Or(r.Kind, r.State), page.WithoutFolders(r.Error, known...)).Bad = true
		}
	}
	return page.Section{Title: "Failed or damaged", Tables: fields.Filled(grid)}
}

// dataSet shows the scores of the kernels on a data set.
func dataSet(name string, rows []Row, metrics []Measure, all []Standing) (page.Section, error) {
	section := page.Section{Title: name}
	standings := slices.DeleteFunc(slices.Clone(all), func(s Standing) bool { return s.Data != name })
	if len(standings) == 0 {
		return section, nil
	}
	table := standingTable(standings, metrics, false)
	table.Caption = "Means over splits and seeds; less is better. ± is the standard error of the first score."
	for i := range table.Rows {
		table.Rows[i].Best = standings[i].Rank == 1
	}
	section.Tables = []fields.Table{table}
	of := slices.DeleteFunc(groups(rows), func(g group) bool { return g.data != name })
	for _, m := range append(slices.Clone(metrics), Measure{"seconds", secondsOf}) {
		if !slices.ContainsFunc(of, func(g group) bool { return g.values(m.Of) != nil }) {
			continue
		}
		if err := draw(&section, of, standings, m); err != nil {
			return section, err
		}
	}
	return section, nil
}

// draw draws a score of each job of a data set, by kernel: a ring for each job and a bar at
// the mean. A kernel has the same colour in all pictures.
func draw(section *page.Section, of []group, standings []Standing, m Measure) error {
	chart := plotting.Chart{X: plotting.Axis{Label: "each ring is a job, the bar is the mean"}, Y: plotting.Axis{Reversed: true}}
	for i, s := range standings {
		chart.Y.Categories = append(chart.Y.Categories, textform.Printable(s.Kernel, mostLabel))
		color := slices.IndexFunc(of, func(g group) bool { return g.kernel == s.Kernel })
		values := of[color].values(m.Of)
		jobs := &plotting.Points{X: values, Color: color, Shape: plotting.Ring}
		if n := len(values); n > mostJobs { // in their order, so that the picture shows their distribution
			jobs.X = nil
			slices.Sort(values)
			for i := range mostJobs {
				jobs.X = append(jobs.X, values[i*(n-1)/(mostJobs-1)])
			}
			chart.X.Label = fmt.Sprintf("rings: %d quantiles, bar: the mean", mostJobs)
		}
		jobs.Y = slices.Repeat([]float64{float64(i)}, len(jobs.X))
		chart.Layers = append(chart.Layers, jobs)
		if len(values) > 0 {
			chart.Layers = append(chart.Layers, &plotting.Points{X: []float64{score.Mean(values)}, Y: []float64{float64(i)}, Color: color, Shape: plotting.Upright})
		}
	}
	alt := fmt.Sprintf("%s of each job on %s, by kernel; less is better", m.Title(), of[0].data)
	return section.Draw(m.Title(), alt, max(3.6, 2.2+0.72*float64(len(standings))), chart)
}

// mostLabel is the number of characters of a kernel's name that fit beside a picture.
const mostLabel = 24

// pairs shows the comparisons of kernels in pairs.
func pairs(all []PairedComparison) page.Section {
	section := page.Section{Title: "Paired comparisons of kernels", Notes: []string{
		"Each pair is two jobs with the same data, split and seed. The table shows the mean of a − b, its standard error, and how often each kernel was better. Less is better, so a negative difference favours a. The sign test assumes independent pairs, but splits of one table are not quite independent."}}
	if section.Tables = fields.Filled(pairTable(all, "metric")); section.Tables == nil {
		section.Notes = nil
	}
	return section
}

// calibration shows how many held-out rows the 95 % intervals cover.
func calibration(rows []Row) page.Section {
	section := page.Section{Title: "Calibration"}
	grid := fields.Table{Caption: "Share of held-out rows in their 95 % interval. It is too narrow or too wide if a correct interval makes the share improbable.",
		Heads: append(fields.Words("data", "kernel"), fields.Numbers("jobs", "mean", "lowest", "highest", "too narrow", "too wide")...)}
	for _, g := range groups(rows) {
		shares := g.values(coverageOf)
		if shares == nil {
			continue
		}
		counts := map[string]int{}
		for _, r := range g.rows {
			counts[r.Calibration]++
		}
		share := fields.Named("coverage95").Text
		grid.Add(g.data, g.kernel, fmt.Sprint(len(shares)), share(score.Mean(shares)), share(slices.Min(shares)), share(slices.Max(shares)),
			fmt.Sprint(counts[string(summary.Overconfident)]), fmt.Sprint(counts[string(summary.Underconfident)]))
	}
	section.Tables = fields.Filled(grid)
	return section
}

// verdicts lists the jobs whose verdict is not good, with what to do next, and all warnings.
func verdicts(rows []Row, known []string) page.Section {
	section := page.Section{Title: "Verdicts and warnings"}
	grid := fields.Table{Caption: "Warnings of the jobs", Folded: true, Heads: append(fields.Words("job"), fields.Head{Text: "warning", Words: true, Wrap: true})}
	for _, r := range rows {
		if r.Level != "" && r.Level != string(summary.Good) {
			section.Points = append(section.Points, page.Remark{Text: r.Job + ": " + r.Verdict + ".", Advice: r.Next})
		}
		for _, w := range warnings(&r) {
			grid.Add(r.Job, page.WithoutFolders(w, known...))
		}
	}
	if more := len(section.Points) - mostNotes; more > 0 {
		section.Points = append(section.Points[:mostNotes], page.Remark{Text: fmt.Sprintf("%d more; the table of jobs has all of them.", more)})
	}
	section.Tables = fields.Filled(grid)
	return section
}

// choices lists the kernels that fits chose.
func choices(rows []Row) page.Section {
	grid := fields.Table{Heads: append(fields.Words("job", "kernel"), fields.Head{Text: "choice", Words: true, Wrap: true})}
	for _, r := range rows {
		if r.Choice != "" {
			grid.Add(r.Job, r.Expression, r.Choice)
		}
	}
	return page.Section{Title: "Chosen kernels", Tables: fields.Filled(grid)}
}

// parameters shows the parameters of each kernel on each data set, in the units of the table.
func parameters(rows []Row) page.Section {
	section := page.Section{Title: "Parameters"}
	for _, data := range names(rows, func(r Row) string { return r.Data }) {
		grid := fields.Table{Caption: data + ", in the units of the table, over the jobs of each kernel", Folded: true,
			Heads: append(fields.Words("kernel", "parameter"), fields.Numbers("jobs", "smallest", "mean", "largest")...)}
		for _, g := range groups(rows) {
			if g.data != data {
				continue
			}
			values := map[string][]float64{}
			for _, r := range g.rows {
				var one map[string]float64
				_ = json.Unmarshal([]byte(r.ParametersOriginalUnits), &one) // a job without a result has none
				for name, v := range one {
					values[name] = append(values[name], v)
				}
			}
			for _, name := range slices.Sorted(maps.Keys(values)) {
				v := values[name]
				grid.Add(g.kernel, name, fmt.Sprint(len(v)), fmt.Sprintf("%.5g", slices.Min(v)), fmt.Sprintf("%.5g", score.Mean(v)), fmt.Sprintf("%.5g", slices.Max(v)))
			}
		}
		section.Tables = append(section.Tables, fields.Filled(grid)...)
	}
	return section
}

// jobs lists all jobs, first what says whether to trust them: a narrow screen hides the rest.
func jobs(rows []Row, caption string) page.Section {
	paths := slices.Concat([]string{"job", "state", "level", "warnings"}, fields.Scores, []string{"nlml", "seconds", "n"})
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Device != rows[0].Device }) {
		paths = append(paths, "device")
	}
	t := fields.Of(rows, paths...)
	t.Caption = caption
	for i := range t.Rows {
		t.Rows[i].Bad = bad(rows[i])
	}
	t.Column(fields.Head{Text: "status", Words: true, Wrap: true}, func(i int) string { return summary.StateText(rows[i].Status) })
	t.Column(fields.Head{Text: "most relevant columns", Words: true, Wrap: true}, func(i int) string { return rows[i].mostRelevant() })
	return page.Section{Title: "Jobs", Tables: fields.Filled(t)}
}

// inputs lists the files that the jobs read.
func inputs(r *rundir.Run) page.Section {
	grid := fields.Table{Heads: slices.Concat(fields.Words("file"), fields.Numbers("bytes"), fields.Words("SHA-256"))}
	for _, in := range r.Inputs {
		grid.Add(filepath.Base(in.Path), fmt.Sprint(in.Bytes), in.SHA256)
	}
	return page.Section{Title: "Inputs", Tables: fields.Filled(grid)}
}
