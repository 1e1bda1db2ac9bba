package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"gpfit/cmd/gpfit/internal/output"
	"gpfit/fit/columns"
	"gpfit/fit/fields"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/show/plotting"
)

const (
	// nearNats is the least height of a curve's chart above the optimum, in nats, and
	// farNats the greatest, unless an optimum is higher.
	nearNats, farNats = 3, 20
	// contourNats is the greatest height of a contour's colours, unless an optimum is higher.
	contourNats = 10
	// panelWidth and panelHeight are the size of a chart among the charts of fits, in centimetres: four
	// side by side can be read on a page.
	panelWidth, panelHeight = 7.2, 6
	// interval95 is the height of a profile likelihood at the ends of its 95 % interval.
	interval95 = 1.92
)

// profileFigure returns the picture of a profile.
func profileFigure(p *summary.Profile) *plotting.Figure {
	label := profileLabel(p)
	others := "others tuned"
	if p.Others == summary.OthersHeld {
		others = "others held at the best optimum"
	}
	f := &plotting.Figure{Title: fmt.Sprintf("%s of %d rows, %s, %s", label, p.Report.N, p.Report.Kernel, others)}
	switch p.Show {
	case summary.ProfileContour:
		f.Charts = []plotting.Chart{contourChart(p, label)}
	case summary.ProfileFits:
		f.Charts, f.Columns = fitCharts(p, label), len(p.Sections[0].Axes[1].Values)
		f.Size = plotting.Size{Width: panelWidth * float64(f.Columns), Height: panelHeight*float64(len(f.Charts)/f.Columns) + 1.5}
	default:
		axis := "nats from the best optimum"
		if len(p.Sections) > 1 { // small charts are not as high as this label is long
			f.Title, axis = f.Title+", in "+axis, "nats"
		}
		for i := range p.Sections {
			f.Charts = append(f.Charts, curveChart(p, &p.Sections[i], label, axis))
		}
	}
	return f
}

// profileLabel names the objective of a profile, such as NLML or "NLML + prior".
func profileLabel(p *summary.Profile) string {
	base, _, prior := strings.Cut(p.ObjectiveName, "+")
	if base = problem.ObjectiveLabel(base); prior {
		base += " + prior"
	}
	return base
}

// parameterAxis returns the axis of a chart for a parameter.
func parameterAxis(a *summary.ProfileAxis) plotting.Axis {
	label := a.Name
	if !slices.Equal(a.Values, a.OriginalUnits) {
		label += ", scaled"
	}
	return plotting.Axis{Label: label, Log: a.Log, Range: [2]float64{a.Values[0], a.Values[len(a.Values)-1]}}
}

// curveChart returns the chart of a curve: the objective and its terms, less their values at
// the best optimum. axis is the label of the vertical axis.
func curveChart(p *summary.Profile, s *summary.ProfileSection, label, axis string) plotting.Chart {
	x := s.Axes[0].Values
	c := plotting.Chart{X: parameterAxis(&s.Axes[0]), Y: plotting.Axis{Label: axis}}
	lines := []*plotting.Line{{Name: label, X: x, Y: shifted(s, p.Optima[0].Objective, "objective")}}
	add := func(path string, best float64, color int) {
		lines = append(lines, &plotting.Line{Name: fields.Named(path).Label, X: x, Y: shifted(s, best, path), Color: color, Dashed: color > 1})
	}
	if strings.HasPrefix(p.ObjectiveName, string(problem.NLML)) {
		add("data_fit", p.Report.DataFit, 1)
		add("complexity", p.Report.Complexity, 2)
	}
	if p.Report.NegLogPrior != nil {
		add("neg_log_prior", *p.Report.NegLogPrior, 4)
	}
	for _, line := range slices.Backward(lines) { // the objective on top of a term that equals it
		c.Layers = append(c.Layers, line)
	}
	if s.Interval95 != nil {
		lowest := float64(s.Points[s.Lowest].Objective) - p.Optima[0].Objective
		c.Layers = append(c.Layers, &plotting.Guide{Name: "95 % interval: 1.92 above the lowest point", At: lowest + interval95, Color: plotting.Grey, Dashed: true})
	}
	marks := optimaMarks(p)
	for _, o := range p.Optima {
		marks.X = append(marks.X, o.Parameters[s.Axes[0].Name])
		marks.Y = append(marks.Y, o.Objective-p.Optima[0].Objective)
	}
	c.Layers = append(c.Layers, marks)
	c.Y.Range = curveRange(lines, marks.Y)
	return c
}

// optimaMarks returns the marks of the optima, without their places.
func optimaMarks(p *summary.Profile) *plotting.Points {
	marks := &plotting.Points{Name: "optimum of the fit", Color: 3, Shape: plotting.Cross, Radius: 4.5}
	if len(p.Optima) > 1 {
		marks.Name = "optima of the fit"
		for i := range p.Optima {
			marks.Labels = append(marks.Labels, fmt.Sprint(i))
		}
	}
	return marks
}

// shifted returns the number at a path of each point less its value at the best optimum.
func shifted(s *summary.ProfileSection, best float64, path string) []float64 {
	out := output.Floats(s.Points, path)
	for i := range out {
		out[i] -= best
	}
	return out
}

// curveRange returns the range of a chart: what lines, of which the objective is the first,
// need up to a height at which the likelihood is negligible.
func curveRange(lines []*plotting.Line, optima []float64) [2]float64 {
	lo, hi := 0.0, float64(nearNats)
	for _, v := range lines[0].Y {
		if v == v {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	hi = max(min(hi, farNats), 1.5*slices.Max(optima))
	for _, line := range lines[1:] {
		for _, v := range line.Y {
			if v == v {
				lo = min(lo, max(v, -hi))
			}
		}
	}
	room := (hi - lo) / 25
	return [2]float64{lo - room, hi + room}
}

// contourChart returns the chart of the objective over two parameters, less its value at the
// best optimum.
func contourChart(p *summary.Profile, label string) plotting.Chart {
	s := &p.Sections[0]
	x, y := &s.Axes[0], &s.Axes[1]
	values := shifted(s, p.Optima[0].Objective, "objective")
	heat := &plotting.Heat{X: x.Values, Y: y.Values, Label: label + " above the best optimum, nats"}
	for i := range y.Values {
		row := make([]float64, len(x.Values))
		for k := range x.Values {
			row[k] = values[k*len(y.Values)+i]
		}
		heat.Z = append(heat.Z, row)
	}
	marks := optimaMarks(p)
	highest := 0.0
	for _, o := range p.Optima {
		marks.X, marks.Y = append(marks.X, o.Parameters[x.Name]), append(marks.Y, o.Parameters[y.Name])
		highest = max(highest, o.Objective-p.Optima[0].Objective)
	}
	heat.Low, heat.High = colourRange(values, 1.5*highest)
	heat.Levels = contourLevels(heat.High)
	return plotting.Chart{X: parameterAxis(x), Y: parameterAxis(y), Layers: []plotting.Layer{heat, marks}}
}

// colourRange returns the ends of the colour scale: the finite values, but no more than
// contourNats above the optimum, unless the optima or a quarter of the values need more.
func colourRange(values []float64, least float64) (lo, hi float64) {
	known := slices.DeleteFunc(slices.Sorted(slices.Values(values)), math.IsNaN)
	if len(known) == 0 {
		return 0, max(1, least)
	}
	most := max(contourNats, known[len(known)/4])
	return min(0, known[0]), max(1, least, min(most, known[len(known)-1]))
}

// contourLevels returns the values of the lines of a contour below hi.
func contourLevels(hi float64) []float64 {
	var out []float64
	for _, v := range []float64{0.1, 0.25, 0.5, 1, 2, 3, 5, 7.5, 10, 15, 20, 30, 50, 100, 200, 500} {
		if v < hi {
			out = append(out, v)
		}
	}
	return out
}

// fitCharts returns a chart of the prediction for each point.
func fitCharts(p *summary.Profile, label string) []plotting.Chart {
	s := &p.Sections[0]
	lo, hi := slices.Min(p.Targets), slices.Max(p.Targets)
	room := 0.35 * (hi - lo)
	var charts []plotting.Chart
	for k := range s.Points {
		q := &s.Points[k]
		title := fmt.Sprintf("%s=%.3g, %s=%.3g", s.Axes[0].Name, q.Parameters[s.Axes[0].Name], s.Axes[1].Name, q.Parameters[s.Axes[1].Name])
		c := plotting.Chart{X: plotting.Axis{Label: p.Input}, Y: plotting.Axis{Label: p.Target, Range: [2]float64{lo - room, hi + room}}}
		if r := q.Prediction; r != nil {
			title += strings.Replace(fmt.Sprintf(": %s %.2f", label, q.Objective), " -", " −", 1)
			c.Layers = []plotting.Layer{
				&plotting.Band{Name: "95 % interval of an observation", X: r.Inputs, Lower: r.Lower95, Upper: r.Upper95},
				&plotting.Line{Name: "mean", X: r.Inputs, Y: r.Mean},
			}
		} else {
			title += ": not defined"
		}
		if i := optimumAt(p, s, q); i >= 0 {
			title += fmt.Sprintf(" (optimum %d)", i)
		}
		c.Title = title
		c.Layers = append(c.Layers, &plotting.Points{Name: "data", X: p.Inputs, Y: p.Targets, Color: 1, Radius: 1.8})
		charts = append(charts, c)
	}
	return charts
}

// optimumAt returns the index of the optimum at a point, -1 if there is none.
func optimumAt(p *summary.Profile, s *summary.ProfileSection, q *summary.ProfilePoint) int {
	return slices.IndexFunc(p.Optima, func(o summary.OptimumReport) bool {
		const same = 1e-3 // nats; the others end close to the optimum's
		return math.Abs(float64(q.Objective)-o.Objective) < same && !slices.ContainsFunc(s.Axes, func(a summary.ProfileAxis) bool {
			v := q.Parameters[a.Name]
			return math.Abs(v-o.Parameters[a.Name]) > 1e-9*math.Abs(v)
		})
	})
}

// writeProfile writes the points of a profile as a table: a row for each point, or for each
// input of each point's prediction. Terms that are not defined are empty.
func writeProfile(w io.Writer, file *output.File, p *summary.Profile) error {
	sheet := file.Sheet(w, map[string]any{"type": "profile_points", "schema_version": summary.SchemaVersion,
		"objective_name": p.ObjectiveName, "show": p.Show, "others": p.Others})
	for i := range p.Sections {
		s := &p.Sections[i]
		var c columns.TargetColumns
		var keys columns.Keys
		switch {
		case p.Show != summary.ProfileCurves:
		case file.Format == output.NPY: // which has no text
			c.Add("curve", slices.Repeat([]float64{float64(i)}, len(s.Points)))
		default:
			keys = columns.Keys{Names: []string{"along"}, Values: [][]string{slices.Repeat([]string{s.Axes[0].Name}, len(s.Points))}}
		}
		for _, name := range p.Names {
			c.Add(name, output.Floats(s.Points, "parameters."+name))
		}
		for _, term := range []string{"objective", "nlml", "data_fit", "complexity", "constant", "neg_log_prior"} {
			if term == "objective" && p.ObjectiveName == string(problem.NLML) || term == "neg_log_prior" && len(p.Report.Priors) == 0 {
				continue
			}
			c.AddSparse(term, output.Floats(s.Points, term))
		}
		if p.Show == summary.ProfileFits {
			c = predicted(&c, s, p)
		}
		if err := sheet.AddKeyed([]columns.TargetColumns{c}, keys); err != nil {
			return err
		}
	}
	return sheet.End()
}

// predicted repeats the columns of the points for each input of their predictions, and adds
// the predictions. Points without a prediction have no rows.
func predicted(points *columns.TargetColumns, s *summary.ProfileSection, p *summary.Profile) columns.TargetColumns {
	var out columns.TargetColumns
	var along [4][]float64
	out.Columns = slices.Clone(points.Columns)
	for i := range out.Columns {
		out.Columns[i].Values = nil
	}
	for k := range s.Points {
		prediction := s.Points[k].Prediction
		if prediction == nil {
			continue
		}
		for i := range out.Columns {
			out.Columns[i].Values = append(out.Columns[i].Values, slices.Repeat(points.Columns[i].Values[k:k+1], len(prediction.Inputs))...)
		}
		for i, values := range [][]float64{prediction.Inputs, prediction.Mean, prediction.Lower95, prediction.Upper95} {
			along[i] = append(along[i], values...)
		}
	}
	for i, name := range []string{"input", "mean", "lower95", "upper95"} {
		out.Add(name, along[i])
	}
	return out
}
