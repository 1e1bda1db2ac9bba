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
	"gpfit/fit/summary"
	"gpfit/internal/score"
	"gpfit/internal/textform"
	"gpfit/show/page"
	"gpfit/show/plotting"
)

// WriteHTML writes the report of a run as one HTML page that includes its plots. The page
// names files without their folders, so that it can be passed on.
func WriteHTML(w io.Writer, r *rundir.Run, rows []Row) error {
	p := &page.Page{
		Title: r.Name, Headline: Headline(rows),
		About: fmt.Sprintf("%d jobs: %s. The run %s was created by %s on %s UTC.", len(rows), StateText(rows), filepath.Base(r.Dir), r.Program, r.Created.UTC().Format(time.DateTime)),
	}
	if p.Title == "" {
		p.Title = filepath.Base(r.Dir)
	}
	p.Sections = append(p.Sections, failures(rows, known(r)))
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
	p.Sections = append(p.Sections, choices(rows), verdicts(rows, known(r)), calibration(rows), parameters(rows), jobs(rows), inputs(r))
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
	grid := page.Grid{Heads: append(page.Words("job", "kind"), page.Head{Text: "error", Words: true, Wrap: true})}
	for _, r := range rows {
		if bad(r) {
			grid.Add(r.Job, cmp.Or(r.Kind, r.State), page.WithoutFolders(r.Error, known...))
			grid.Rows[len(grid.Rows)-1].Bad = true
		}
	}
	return page.Section{Title: "Failed or damaged", Grids: page.Filled(grid)}
}

// dataSet shows the scores of the kernels on a data set.
func dataSet(name string, rows []Row, metrics []Measure, all []Standing) (page.Section, error) {
	section := page.Section{Title: name}
	standings := slices.DeleteFunc(slices.Clone(all), func(s Standing) bool { return s.Data != name })
	if len(standings) == 0 {
		return section, nil
	}
	grid := page.Grid{Caption: "Means over splits and seeds; less is better. ± is the standard error of the first score.",
		Heads: slices.Concat(page.Numbers("rank"), page.Words("kernel"), page.Numbers("jobs"))}
	for _, m := range metrics {
		grid.Heads = append(grid.Heads, page.Head{Text: m.Title})
	}
	grid.Heads = append(grid.Heads, page.Numbers("±", "in the 95 % interval", "seconds")...)
	for _, s := range standings {
		grid.Add(s.cells(metrics)...)
		grid.Rows[len(grid.Rows)-1].Best = s.Rank == 1
	}
	section.Grids = []page.Grid{grid}
	seconds := Measure{"seconds", "seconds of a fit", func(r Row) *float64 { return r.Seconds }}
	for _, m := range append(slices.Clone(metrics), seconds) {
		if !slices.ContainsFunc(rows, func(r Row) bool { return r.Data == name && m.Of(r) != nil }) {
			continue
		}
		figure, err := dots(name, rows, standings, m)
		if err != nil {
			return section, err
		}
		section.Pictures = append(section.Pictures, figure)
	}
	return section, nil
}

// dots draws a score of each job of a data set, by kernel: a ring for each job and a bar at
// the mean. A kernel has the same colour in all pictures.
func dots(name string, rows []Row, standings []Standing, m Measure) (page.Picture, error) {
	kernels := names(rows, func(r Row) string { return r.Kernel })
	chart := plotting.Chart{X: plotting.Axis{Label: "each ring is a job, the bar is the mean"}, Y: plotting.Axis{Reversed: true}}
	for i, s := range standings {
		chart.Y.Categories = append(chart.Y.Categories, textform.Printable(s.Kernel, mostLabel))
		jobs := &plotting.Points{Color: slices.Index(kernels, s.Kernel), Shape: plotting.Ring}
		for _, r := range rows {
			if v := m.Of(r); r.Data == name && r.Kernel == s.Kernel && v != nil {
				jobs.X, jobs.Y = append(jobs.X, *v), append(jobs.Y, float64(i))
			}
		}
		chart.Layers = append(chart.Layers, jobs)
		if len(jobs.X) > 0 {
			chart.Layers = append(chart.Layers, &plotting.Points{X: []float64{score.Mean(jobs.X)}, Y: []float64{float64(i)}, Color: jobs.Color, Shape: plotting.Upright})
		}
	}
	return picture(m.Title, fmt.Sprintf("%s of each job on %s, by kernel; less is better", m.Title, name), chart)
}

// mostLabel is the number of characters of a kernel's name that fit beside a picture.
const mostLabel = 24

// picture draws a chart with a row for each category.
func picture(caption, alt string, chart plotting.Chart) (page.Picture, error) {
	figure := plotting.Figure{Alt: alt, Size: plotting.Size{Width: page.PictureWidth, Height: max(3.6, 2.2+0.72*float64(len(chart.Y.Categories)))}, Charts: []plotting.Chart{chart}}
	svg, err := figure.SVG()
	return page.Picture{SVG: svg, Caption: caption}, err
}

// pairs shows the comparisons of kernels in pairs.
func pairs(all []PairedComparison) page.Section {
	section := page.Section{Title: "Paired comparisons of kernels", Notes: []string{
		"Each pair is two jobs with the same data, split and seed. The table shows the mean of a − b, its standard error, and how often each kernel was better. Less is better, so a negative difference favours a. The sign test assumes independent pairs, but splits of one table are not quite independent."}}
	grid := page.Grid{Heads: append(page.Words("metric", "data", "a", "b"), page.Numbers("pairs", "a − b", "±", "a better", "b better", "ties", "sign test p")...)}
	for _, p := range all {
		grid.Add(append([]string{p.Metric}, p.cells()...)...)
	}
	if section.Grids = page.Filled(grid); section.Grids == nil {
		section.Notes = nil
	}
	return section
}

// calibration shows how many held-out rows the 95 % intervals cover.
func calibration(rows []Row) page.Section {
	section := page.Section{Title: "Calibration"}
	grid := page.Grid{Caption: "Share of held-out rows in their 95 % interval. It is too narrow or too wide if a correct interval makes the share improbable.",
		Heads: append(page.Words("data", "kernel"), page.Numbers("jobs", "mean", "lowest", "highest", "too narrow", "too wide")...)}
	type key struct{ data, kernel string }
	groups := map[key][]Row{}
	var order []key
	for _, r := range rows {
		if r.Coverage95 == nil {
			continue
		}
		k := key{r.Data, r.Kernel}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], r)
	}
	for _, k := range order {
		var shares []float64
		counts := map[string]int{}
		for _, r := range groups[k] {
			shares = append(shares, *r.Coverage95)
			counts[r.Calibration]++
		}
		average, low, high := score.Mean(shares), slices.Min(shares), slices.Max(shares)
		grid.Add(k.data, k.kernel, fmt.Sprint(len(shares)), textform.Percent(&average), textform.Percent(&low), textform.Percent(&high),
			fmt.Sprint(counts[string(summary.Overconfident)]), fmt.Sprint(counts[string(summary.Underconfident)]))
	}
	section.Grids = page.Filled(grid)
	return section
}

// verdicts lists the jobs whose verdict is not good, with what to do next, and all warnings.
func verdicts(rows []Row, known []string) page.Section {
	section := page.Section{Title: "Verdicts and warnings"}
	grid := page.Grid{Caption: "Warnings of the jobs", Folded: true, Heads: append(page.Words("job"), page.Head{Text: "warning", Words: true, Wrap: true})}
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
	section.Grids = page.Filled(grid)
	return section
}

// choices lists the kernels that fits chose.
func choices(rows []Row) page.Section {
	grid := page.Grid{Heads: append(page.Words("job", "kernel"), page.Head{Text: "choice", Words: true, Wrap: true})}
	for _, r := range rows {
		if r.Choice != "" {
			grid.Add(r.Job, r.Expression, r.Choice)
		}
	}
	return page.Section{Title: "Chosen kernels", Grids: page.Filled(grid)}
}

// parameters shows the parameters of each kernel on each data set, in the units of the table.
func parameters(rows []Row) page.Section {
	section := page.Section{Title: "Parameters"}
	for _, data := range names(rows, func(r Row) string { return r.Data }) {
		grid := page.Grid{Caption: data + ", in the units of the table, over the jobs of each kernel", Folded: true,
			Heads: append(page.Words("kernel", "parameter"), page.Numbers("jobs", "smallest", "mean", "largest")...)}
		for _, kernel := range names(rows, func(r Row) string { return r.Kernel }) {
			values := map[string][]float64{}
			for _, r := range rows {
				var one map[string]float64
				if r.Data == data && r.Kernel == kernel && json.Unmarshal([]byte(r.ParametersOriginalUnits), &one) == nil {
					for name, v := range one {
						values[name] = append(values[name], v)
					}
				}
			}
			for _, name := range slices.Sorted(maps.Keys(values)) {
				v := values[name]
				grid.Add(kernel, name, fmt.Sprint(len(v)), fmt.Sprintf("%.5g", slices.Min(v)), fmt.Sprintf("%.5g", score.Mean(v)), fmt.Sprintf("%.5g", slices.Max(v)))
			}
		}
		section.Grids = append(section.Grids, page.Filled(grid)...)
	}
	return section
}

// jobs lists all jobs, first what says whether to trust them: a narrow screen hides the rest.
func jobs(rows []Row) page.Section {
	grid := page.Grid{Heads: slices.Concat(page.Words("job", "state", "verdict"), page.Numbers("warnings", "RMSE", "NLPD", "in 95 %", "NLML", "seconds", "n", "d"), page.Words("device"),
		page.Numbers("values", "gradients"), page.Words("status", "most relevant columns"))}
	for _, r := range rows {
		grid.Add(r.Job, r.State, r.Level, fmt.Sprint(r.Warnings), textform.Optional(r.RMSE, "%.5g"), textform.Optional(r.NLPD, "%.4f"), textform.Percent(r.Coverage95), textform.Optional(r.NLML, "%.4f"),
			textform.Optional(r.Seconds, "%.2f"), fmt.Sprint(r.N), fmt.Sprint(r.D), r.Device, textform.Optional(r.Values, "%d"), textform.Optional(r.Gradients, "%d"), summary.StateText(r.Status), r.mostRelevant())
		grid.Rows[len(grid.Rows)-1].Bad = bad(r)
	}
	return page.Section{Title: "Jobs", Grids: page.Filled(grid)}
}

// inputs lists the files that the jobs read.
func inputs(r *rundir.Run) page.Section {
	grid := page.Grid{Heads: slices.Concat(page.Words("file"), page.Numbers("bytes"), page.Words("SHA-256"))}
	for _, in := range r.Inputs {
		grid.Add(filepath.Base(in.Path), fmt.Sprint(in.Bytes), in.SHA256)
	}
	return page.Section{Title: "Inputs", Grids: page.Filled(grid)}
}
