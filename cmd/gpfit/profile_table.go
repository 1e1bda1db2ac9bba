package main

import (
	"io"
	"math"
	"slices"

	"gpfit/cmd/gpfit/internal/output"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/internal/columns"
)

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
			c.Add(name, pointValues(s, func(p *summary.ProfilePoint) summary.Number { return summary.Number(p.Parameters[name]) }))
		}
		addTerms(&c, s, p)
		if p.Show == summary.ProfileFits {
			c = predicted(&c, s, p)
		}
		if err := sheet.AddKeyed([]columns.TargetColumns{c}, keys); err != nil {
			return err
		}
	}
	return sheet.End()
}

// pointValues returns a number of each point.
func pointValues(s *summary.ProfileSection, of func(*summary.ProfilePoint) summary.Number) []float64 {
	out := make([]float64, len(s.Points))
	for k := range s.Points {
		out[k] = float64(of(&s.Points[k]))
	}
	return out
}

// addTerms adds the objective and its terms.
func addTerms(c *columns.TargetColumns, s *summary.ProfileSection, p *summary.Profile) {
	if p.ObjectiveName != string(problem.NLML) {
		c.AddSparse("objective", pointValues(s, func(p *summary.ProfilePoint) summary.Number { return p.Objective }))
	}
	c.AddSparse("nlml", pointValues(s, func(p *summary.ProfilePoint) summary.Number { return p.NLML }))
	c.AddSparse("data_fit", pointValues(s, func(p *summary.ProfilePoint) summary.Number { return p.DataFit }))
	c.AddSparse("complexity", pointValues(s, func(p *summary.ProfilePoint) summary.Number { return p.Complexity }))
	c.AddSparse("constant", pointValues(s, func(p *summary.ProfilePoint) summary.Number { return p.Constant }))
	if len(p.Report.Priors) > 0 {
		c.AddSparse("neg_log_prior", pointValues(s, negLogPrior))
	}
}

// negLogPrior returns the negative log prior at a point, NaN where it is not defined.
func negLogPrior(p *summary.ProfilePoint) summary.Number {
	if p.NegLogPrior == nil {
		return summary.Number(math.NaN())
	}
	return *p.NegLogPrior
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
