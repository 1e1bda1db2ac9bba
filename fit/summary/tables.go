package summary

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gpfit/fit/fields"
	"gpfit/fit/problem"
	"gpfit/internal/textform"
)

// layouts returns a table with the given layouts of its columns in texts, whose first column is as wide as the
// longest name, or as least if that is more.
func layouts(t fields.Table, least int, forms ...string) fields.Table {
	names := []string{}
	for _, row := range t.Rows {
		names = append(names, row.Cells[0].Text)
	}
	for i := range t.Heads {
		t.Heads[i].Layout = forms[min(i, len(forms)-1)]
	}
	if t.Heads[0].Words {
		t.Heads[0].Layout = fmt.Sprintf("%%-%ds", textform.Widest(least, names))
	}
	return t
}

// named returns a table whose first column has names.
func named(head string, numbers ...string) fields.Table {
	return fields.Table{Heads: append(fields.Words(head), fields.Numbers(numbers...)...)}
}

// leastName is the width of a column of names of parameters, and number the layout of its values.
const leastName, number = 20, "  %14s"

// parameterText returns the value of a parameter.
func parameterText(v float64) string { return fields.Named("parameter").Text(v) }

// ParameterTable lists the parameters with their gradients, if these were evaluated.
func ParameterTable(r *Report) fields.Table {
	t := named("parameter", "scaled", unscaled(r))
	if len(r.GradientLog) > 0 {
		t.Heads = append(t.Heads, fields.Head{Text: "∂" + problem.ObjectiveLabel(r.ObjectiveName) + "/∂log"})
	}
	for _, name := range r.Names {
		row := t.Add(name, parameterText(r.Parameters[name]), original(r, name))
		if slope, ok := r.GradientLog[name]; ok {
			row.Cells = append(row.Cells, fields.Cell{Text: fmt.Sprintf("%.3g", slope)})
		}
		if source, ok := r.Tied[name]; ok {
			row.Cells, row.Note = row.Cells[:3], "tied to "+source
		} else if slices.Contains(r.Constants, name) {
			row.Cells, row.Note = row.Cells[:3], "constant"
		}
		for _, part := range parts(r, name) {
			t.Add("  "+part, "", parameterText(r.ParametersOriginalUnits[part]))
		}
	}
	return layouts(t, leastName, "", number)
}

// Table lists the standard errors of the parameters of the names.
func (e *StdErrors) Table(names []string) fields.Table {
	t := named("standard errors", "of the log", "scaled", "95 % interval, scaled")
	for _, name := range names {
		scaled, ok := e.Scaled[name]
		if !ok {
			t.Add(name, "left out")
			continue
		}
		log := ""
		if v, ok := e.Log[name]; ok {
			log = fmt.Sprintf("%.4g", v)
		}
		t.Add(name, log, fmt.Sprintf("%.4g", scaled), fmt.Sprintf("%14.6g … %14.6g", e.Interval95[name][0], e.Interval95[name][1]))
	}
	return layouts(t, leastName, "", number, number, "  %31s")
}

// DrawTable describes the draws of each parameter.
func (r *PosteriorReport) DrawTable() fields.Table {
	t := named("scaled", "mean", "sd", "2.5 %", "median", "97.5 %", "R-hat", "ESS bulk", "ESS tail")
	for _, name := range drawnNames(r) {
		s := r.Parameters[name]
		cells := []string{name}
		for _, v := range []float64{s.Mean, s.SD, s.Lower, s.Median, s.Upper} {
			cells = append(cells, fmt.Sprintf("%.5g", v))
		}
		t.Add(append(cells, textform.Optional(s.RHat, "%.3f"), textform.Optional(s.ESSBulk, "%.0f"), textform.Optional(s.ESSTail, "%.0f"))...)
	}
	return layouts(t, leastName, "", "  %11s", " %11s", " %11s", " %11s", " %11s", "  %6s", "  %8s")
}

// RelevanceTable lists the relevance of columns.
func RelevanceTable(columns []ColumnRelevance) fields.Table {
	t := named("column", "relevance", "lengthscale in units of the column")
	for _, c := range columns {
		row := t.Add(c.Name(), fields.Named("relevance").Text(c.Relevance))
		row.Cells[1].Bar = c.Relevance
		if len(c.Lengthscales) > 0 {
			row.Cells = append(row.Cells, fields.Cell{Text: cmp.Or(c.NoEffect, textform.Join("%.6g", c.Lengthscales))})
		}
	}
	return layouts(t, leastName, "", number, "  %s")
}

// OptimaTable lists optima with their scores.
func OptimaTable(optima []OptimumReport, label string) fields.Table {
	paths := []string{"#", "objective", "starts", "value", "gradient", "loo.nlpd", "loo.rmse", "test.nlpd", "test.rmse"}
	if len(optima) > 0 && optima[0].Test == nil {
		paths = paths[:7]
	}
	t := fields.Of(optima, paths...)
	t.Heads[0].Text = "optimum"
	t.Rename("objective", label)
	for i, o := range optima {
		row := &t.Rows[i]
		if row.Best = o.Best; o.LeaveOneOut != nil && o.LeaveOneOut.RMSE == 0 {
			row.Cells[6].Text = "-" // several targets
		}
		switch {
		case o.Rows > 0:
			row.Note = fmt.Sprintf("(dropped on %d rows)", o.Rows)
		case o.Dropped:
			row.Note = "(stopped early)"
		}
		if row.Note != "" {
			row.Cells = row.Cells[:5]
		}
	}
	return layouts(t, 0, "%7s", "  %10s", "  %6s", "  %6s", "  %9s", "  %10s", "  %10s", "  %13s")
}

// OptimaParameters shows the parameters of the best optima side by side, at most a number of them. Without names it
// shows all; the table of one optimum is empty.
func OptimaParameters(optima []OptimumReport, most int, names []string) fields.Table {
	var shown []OptimumReport
	var heads []string
	for i, o := range optima {
		if !o.Dropped && len(shown) < most {
			shown, heads = append(shown, o), append(heads, fmt.Sprintf("optimum %d", i))
		}
	}
	if len(shown) < 2 {
		return fields.Table{}
	}
	t := named("parameter, scaled", heads...)
	if names == nil {
		names = slices.Sorted(maps.Keys(shown[0].Parameters))
	}
	for _, name := range names {
		if _, ok := shown[0].Parameters[name]; !ok {
			continue
		}
		cells := []string{name}
		for _, o := range shown {
			cells = append(cells, parameterText(o.Parameters[name]))
		}
		t.Add(cells...)
	}
	return layouts(t, leastName, "", number)
}

// PathTable lists the steps of a fit from coarse to fine.
func PathTable(path []StageReport, label string) fields.Table {
	t := fields.Of(path, "rows", "step", "starts", "objective", "value", "gradient", "seconds")
	t.Rename("objective", label)
	for i := range path {
		t.Rows[i].Cells[1].Text = StepText(path[i].Step)
	}
	return layouts(t, 0, "%6s", "  %-13s", " %6s", "  %12s", "  %6s", "  %9s", "  %7s")
}

// scoreLines returns the scores of a struct as lines, with their values in original units and standardized: each
// has its name in a width after an indentation. several leaves out the RMSE, because the targets have different units.
func scoreLines(scores any, indent, width int, several bool) string {
	var b strings.Builder
	for _, path := range fields.Scores {
		f := fields.Named(path)
		v, _ := fields.Lookup(scores, path)
		if v == nil || several && f.Unit == fields.Target {
			continue
		}
		label, digits := f.Label, 14
		if f.Unit == fields.Share {
			digits++
		}
		if indent > 2 {
			label = strings.TrimPrefix(label, "in the ")
		}
		fmt.Fprintf(&b, "\n%*s%-*s %*s", indent, "", width, label, digits, f.FullText(v))
		if v, _ := fields.Lookup(scores, path+fields.Standardized); v != nil {
			fmt.Fprintf(&b, " %13s", fields.Named(path+fields.Standardized).Text(v))
		}
		if v, _ := fields.Lookup(scores, path+"_std_error"); v != nil {
			fmt.Fprintf(&b, "   ± %s", fields.Named(path+"_std_error").Text(v))
		}
	}
	return b.String()
}

// scoreText returns scores on one line.
func scoreText(t *TestScores) string {
	var parts []string
	for i, path := range fields.Scores {
		f := fields.Named(path)
		v := f.FullText(fields.Value(t, path))
		if f.Unit == fields.Share {
			parts = append(parts, v+" "+f.Label)
			continue
		}
		of := fields.Named(path + fields.Standardized).Text(fields.Value(t, path+fields.Standardized))
		if i == 0 {
			of = "standardized " + of
		}
		parts = append(parts, fmt.Sprintf("%s %s (%s)", f.Label, v, of))
	}
	return strings.Join(parts, ", ")
}
