package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gpfit/fit/summary"
	"gpfit/internal/textform"
	"gpfit/show/page"
	"gpfit/table/feature"
)

// relevantColumns shows how relevant each column is.
func relevantColumns(s *subject) (page.Section, error) {
	grid := page.Grid{Heads: append(page.Words("column"), page.Numbers("relevance", "lengthscale in units of the column")...)}
	for _, c := range s.relevance[:min(len(s.relevance), mostAxes)] {
		var lengths []string
		for _, l := range c.Lengthscales {
			lengths = append(lengths, number(l))
		}
		line := page.NewRow(c.Name(), fmt.Sprintf("%.2f", c.Relevance), strings.Join(lengths, ", "))
		line.Cells[1].Bar = c.Relevance
		grid.Rows = append(grid.Rows, line)
	}
	section := page.Section{Title: "Relevance of the columns", Grids: []page.Grid{grid}, Notes: []string{
		"Relevance is the standard deviation of the part of the predictions that the column takes part in, in units of the target's standard deviation: 1 means that the predictions follow the column as far as the target varies, 0 that they ignore it."}}
	switch {
	case len(s.relevance) == 0:
		section.Notes = append(section.Notes, "There are too many columns to find their relevance.")
	case len(s.relevance) > mostAxes:
		section.Notes = append(section.Notes, fmt.Sprintf("The table has the %d most relevant of %d columns.", mostAxes, len(s.relevance)))
	}
	return section, nil
}

// parameters shows the parameters by name, in both units, with what is known of their uncertainty.
func parameters(s *subject) (page.Section, error) {
	r := s.Record.Report
	grid := page.Grid{Heads: append(page.Words("parameter"), page.Numbers("scaled", "in units of the table")...)}
	errors := r.StdErrors != nil && r.StdErrors.Failure == ""
	if errors {
		grid.Heads = append(grid.Heads, page.Numbers("standard error", "95 % interval, scaled")...)
	}
	if r.Posterior != nil {
		grid.Heads = append(grid.Heads, page.Numbers("posterior mean", "2.5 %", "97.5 %", "R-hat")...)
	}
	grid.Heads = append(grid.Heads, page.Words("remark")...)
	values := s.model.Parameters()
	for _, name := range s.parameterNames(values) {
		cells := []string{name, "", ""}
		if v, ok := values[name]; ok {
			cells[1] = number(v)
		}
		if v, ok := r.ParametersOriginalUnits[name]; ok {
			cells[2] = number(v)
		}
		if errors {
			cells = append(cells, errorCells(r.StdErrors, name)...)
		}
		if r.Posterior != nil {
			cells = append(cells, posteriorCells(r.Posterior, name)...)
		}
		grid.Add(append(cells, s.remark(name))...)
	}
	section := page.Section{Title: "Parameters", Grids: []page.Grid{grid}, Notes: []string{"Scaled values belong to the standardized table, in which gpfit fits."}}
	if len(s.Record.Updates) > 0 {
		section.Notes = append(section.Notes, "Rows were added after the fit. The units of the table and everything about the fit on this page belong to the fit before.")
	}
	return section, nil
}

// remark says what restricts a parameter.
func (s *subject) remark(name string) string {
	r := s.Record.Report
	var out []string
	if source, ok := r.Tied[name]; ok {
		out = append(out, "tied to "+source)
	}
	if slices.Contains(r.AtBound, name) {
		out = append(out, "at a bound")
	}
	if prior, ok := r.Priors[name]; ok {
		out = append(out, "prior "+prior)
	}
	return strings.Join(out, ", ")
}

func errorCells(e *summary.StdErrors, name string) []string {
	if _, ok := e.Scaled[name]; !ok {
		return []string{"left out", ""}
	}
	interval := e.Interval95[name]
	return []string{number(e.Scaled[name]), number(interval[0]) + " … " + number(interval[1])}
}

func posteriorCells(p *summary.PosteriorReport, name string) []string {
	v, ok := p.Parameters[name]
	if !ok {
		return []string{"", "", "", ""}
	}
	return []string{number(v.Mean), number(v.Lower), number(v.Upper), textform.Optional(v.RHat, "%.3f")}
}

// convergence shows how the fit ended, and the optima that its starts reached.
func convergence(s *subject) (page.Section, error) {
	r := s.Record.Report
	section := page.Section{Title: "Convergence and restarts"}
	if r.Type == "" {
		section.Notes = []string{fmt.Sprintf("The model has no report of its fit. Its objective is %s, its status %q.", number(s.model.NLML), s.model.Status)}
		return section, nil
	}
	text := fmt.Sprintf("The fit is %s. It ended at %s %.4f", summary.StatusText(r.Status), r.ObjectiveName, r.Objective)
	if r.GradientNorm != nil {
		text += fmt.Sprintf("; the largest component of the gradient is %.2g", *r.GradientNorm)
	}
	section.Notes = []string{text + ".", fmt.Sprintf("NLML %.4f = data fit %.4f + complexity %.4f + constant %.4f.", r.NLML, r.DataFit, r.Complexity, r.Constant)}
	if r.Search != nil && r.Search.Text != "" {
		section.Notes = append(section.Notes, sentence(r.Search.Text))
	}
	section.Grids = page.Filled(optima(r), optimaParameters(r))
	return section, nil
}

// optima lists the optima with their scores.
func optima(r *summary.Report) page.Grid {
	grid := page.Grid{Caption: "Optima that the starts reached, best first; scores in the units of the target",
		Heads: append(page.Numbers("optimum", "objective", "starts", "values", "gradients", "LOO NLPD", "LOO RMSE", "held-out NLPD", "held-out RMSE"), page.Words("remark")...)}
	for i, o := range r.Optima {
		cells := []string{fmt.Sprint(i), fmt.Sprintf("%.4f", o.Objective), fmt.Sprint(o.Starts), fmt.Sprint(o.Value), fmt.Sprint(o.Gradient), "-", "-", "-", "-", ""}
		if l := o.LeaveOneOut; l != nil {
			cells[5] = number(l.NLPD)
			if l.RMSE != 0 {
				cells[6] = number(l.RMSE)
			}
		}
		if t := o.Test; t != nil {
			cells[7], cells[8] = number(float64(t.NLPD)), number(t.RMSE)
		}
		switch {
		case o.Rows > 0:
			cells[9] = fmt.Sprintf("dropped on %d rows", o.Rows)
		case o.Dropped:
			cells[9] = "stopped early"
		case o.Best:
			cells[9] = "the model"
		}
		grid.Add(cells...)
		grid.Rows[i].Best = o.Best
	}
	return grid
}

// mostOptima is the number of optima whose parameters the page shows.
const mostOptima = 6

// optimaParameters shows the parameters of the best optima side by side.
func optimaParameters(r *summary.Report) page.Grid {
	grid := page.Grid{Caption: "Parameters at the optima, scaled", Folded: true, Heads: page.Words("parameter")}
	var shown []map[string]float64
	for i, o := range r.Optima {
		if !o.Dropped && len(shown) < mostOptima {
			shown = append(shown, o.Parameters)
			grid.Heads = append(grid.Heads, page.Numbers(fmt.Sprintf("optimum %d", i))...)
		}
	}
	if len(shown) < 2 {
		return page.Grid{}
	}
	for _, name := range slices.Sorted(maps.Keys(shown[0])) {
		cells := []string{name}
		for _, values := range shown {
			cells = append(cells, number(values[name]))
		}
		grid.Add(cells...)
	}
	return grid
}

// timeAndDevice shows where the time went.
func timeAndDevice(s *subject) (page.Section, error) {
	r := s.Record.Report
	section := page.Section{Title: "Time and device"}
	if r.Type == "" {
		return section, nil
	}
	section.Notes = []string{fmt.Sprintf("%.3g seconds on %s, with %d values and %d gradients of the objective, %d and %d of them on all rows.",
		r.Seconds, r.Device, r.Evaluations.Value, r.Evaluations.Gradient, r.Evaluations.FullSizeValue, r.Evaluations.FullSizeGradient)}
	if r.EvaluationSeconds > 0 {
		section.Notes = append(section.Notes, fmt.Sprintf("Evaluations took %.3g seconds, summed over those that ran side by side.", r.EvaluationSeconds))
	}
	grid := page.Grid{Caption: "Phases of the fit; first steps of several starts run side by side", Heads: append(page.Words("phase"), page.Numbers("rows", "starts", "objective", "values", "gradients", "seconds")...)}
	phases := 0.0
	for i, p := range r.Path {
		line := page.NewRow(summary.StepText(p.Step), fmt.Sprint(p.Rows), fmt.Sprint(p.Starts), fmt.Sprintf("%.4f", p.Objective), fmt.Sprint(p.Value), fmt.Sprint(p.Gradient), fmt.Sprintf("%.3g", p.Seconds))
		if r.Seconds > 0 {
			line.Cells[6].Bar = p.Seconds / r.Seconds
		}
		grid.Rows = append(grid.Rows, line)
		if i == 0 || r.Path[i-1].Step != "halves" || p.Step != "hessians" {
			phases += p.Seconds
		}
	}
	if rest := r.Seconds - phases; len(r.Path) > 0 && rest > 0 {
		line := page.NewRow("scores, relevance and the rest", "", "", "", "", "", fmt.Sprintf("%.3g", rest))
		line.Cells[6].Bar = rest / r.Seconds
		grid.Rows = append(grid.Rows, line)
	}
	section.Grids = page.Filled(grid)
	return section, nil
}

// source shows what the model is made of.
func source(s *subject) (page.Section, error) {
	m, r := s.model, s.Record
	grid := page.Grid{Heads: []page.Head{{Text: "property", Words: true}, {Text: "value", Words: true, Wrap: true}}}
	add := func(name, text string) {
		if text != "" {
			grid.Add(name, text)
		}
	}
	add("kernel", m.KernelText())
	add("mean", m.Mean.Text)
	add("target", strings.Join(s.targets(), ", "))
	add("training rows", fmt.Sprint(m.N()))
	add("features", strings.Join(m.FeatureNames, ", "))
	if len(m.Columns) < len(m.FeatureNames) {
		var used []string
		for _, c := range m.Columns {
			used = append(used, m.FeatureNames[c])
		}
		add("features in use", strings.Join(used, ", "))
	}
	if m.Noise.Column != "" {
		add("known noise variances", "column "+m.Noise.Column)
	}
	if m.Noise.WeightColumn != "" {
		add("weights", "column "+m.Noise.WeightColumn)
	}
	if m.Noise.GroupColumn != "" {
		add("noise groups", "column "+m.Noise.GroupColumn+": "+strings.Join(m.Noise.Labels, ", "))
	}
	if m.Draws.Len() > 0 {
		add("draws of the parameters", fmt.Sprintf("%d, by %s", m.Draws.Len(), m.Draws.Method))
	}
	add("written by", r.Program)
	if r.Data != "" {
		add("table", baseName(r.Data))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Options)) {
		add("option "+name, page.WithoutFolders(r.Options[name], r.Options[name]))
	}
	section := page.Section{Title: "Model and data", Grids: []page.Grid{grid}}
	if m.Encoding != nil {
		columns := page.Grid{Caption: "How the columns of the table were read", Heads: []page.Head{{Text: "column", Words: true}, {Text: "reading", Words: true, Wrap: true}}}
		for i := range m.Encoding.Columns {
			if c := &m.Encoding.Columns[i]; c.Kind != feature.Number {
				columns.Add(c.Name, c.Text())
			}
		}
		section.Grids = append(section.Grids, page.Filled(columns)...)
	}
	return section, nil
}
