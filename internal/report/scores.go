package report

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gpfit/device"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/page"
	"gpfit/internal/pursuit"
	"gpfit/internal/score"
)

// roundingError is the largest relative difference of a prediction that counts as none.
const roundingError = 1e-12

// score finds the scores: of the given rows, or of each training row from the others.
func (s *subject) score(ctx context.Context) error {
	for t, name := range s.each() {
		one := scores{ofTarget: name, of: s.of(), row: s.model.Row}
		if s.Rows == nil {
			left, err := s.Posterior.Target(t).LeaveOneOut(ctx)
			if err != nil {
				return s.explain(ctx, err)
			}
			one.LeaveOneOut = *left
			one.density = left.Density
		} else {
			s.Rows.residuals(t, &one)
		}
		if len(one.Target) == 0 {
			continue
		}
		if one.summary = one.Summary(); s.Rows == nil {
			one.of = summary.LeftOut(one.summary.Places)
		}
		s.scores = append(s.scores, one)
	}
	if len(s.scores) == 0 {
		s.unscored = "no row has an observed target"
	}
	return nil
}

// explain keeps the reason why leave-one-out scores are undefined, so that the page can
// give it. It returns other errors.
func (s *subject) explain(ctx context.Context, err error) error {
	var memory *device.MemoryError
	var lost *device.LostError
	if ctx.Err() != nil || errors.As(err, &memory) || errors.As(err, &lost) {
		return err
	}
	s.scores, s.unscored = nil, err.Error()
	return nil
}

// residuals compares the predictions of target t with the observations that are there. Its
// results have the form of leave-one-out, whose scores are the same.
func (s *Scored) residuals(t int, out *scores) {
	p := s.Predictions[t]
	var at []int
	for i, y := range s.Rows.Observed[t] {
		if math.IsNaN(y) {
			continue
		}
		at = append(at, i)
		miss, density := y-p.Mean[i], p.Density(i)
		z, nlpd := density.Standardized(y), density.NegLog(y)
		if math.Abs(miss) <= roundingError*math.Abs(y) {
			z, nlpd = 0, density.NegLog(p.Mean[i]) // also where the prediction is certain, as at training rows without noise
		}
		out.Target, out.Mean, out.Std = append(out.Target, y), append(out.Mean, p.Mean[i]), append(out.Std, p.Std[i])
		out.Residual, out.Standardized = append(out.Residual, miss), append(out.Standardized, z)
		out.LogDensity = append(out.LogDensity, -nlpd)
	}
	out.density = func(i int) score.Predictive { return p.Density(at[i]) }
	out.row = func(i int) int {
		if s.Numbers == nil {
			return at[i]
		}
		return s.Numbers[at[i]]
	}
}

// judge returns the verdict on the model: the verdict of its fit, or the verdict on the rows that the
// page was given.
func (s *subject) judge() *summary.Verdict {
	r := s.Record.Report
	given := s.Rows != nil && s.Rows.Of != summary.HeldOutRows
	if v := r.Verdict; v != nil && !given && (v.Level != summary.Unknown || len(s.scores) == 0) {
		return v
	}
	var evidence []summary.Evidence
	for _, c := range s.scores {
		t, n := slices.Index(s.targets(), c.target), s.model.N()
		scale := gp.NewScaling(gp.StandardizeY, nil, s.model.Y[t*n:(t+1)*n], 0).YScale
		sum := fitting(s, &c)
		e := summary.Evidence{Rows: s.of(), N: sum.N, Outlying: c.summary.N - sum.N, RMSE: sum.RMSE, RMSEStandardized: sum.RMSE / scale, NLPDStandardized: sum.NLPD - math.Log(scale), Coverage95: sum.Coverage95}
		if c.several {
			e.Target = c.target
		}
		evidence = append(evidence, e)
	}
	return r.JudgedOn(evidence)
}

// fitting returns the summary of the rows that fit, of a robust model.
func fitting(s *subject, c *scores) gp.LeaveOneOutSummary {
	robust := s.Record.Report.Robust
	if robust == nil {
		return c.summary
	}
	var rows gp.LeaveOneOut
	for i, z := range c.Standardized {
		if s.Rows != nil && pursuit.Fits(z, len(robust.Rows), s.model.N()) || s.Rows == nil && !slices.Contains(s.model.Noise.Outlying, i) {
			rows.Target, rows.Residual = append(rows.Target, c.Target[i]), append(rows.Residual, c.Residual[i])
			rows.Standardized, rows.LogDensity = append(rows.Standardized, z), append(rows.LogDensity, c.LogDensity[i])
		}
	}
	if rows.Target == nil {
		return c.summary
	}
	return rows.Summary()
}

// headline is the verdict, and what to do next.
func (s *subject) headline() []string {
	out := []string{s.verdict.Headline + "."}
	if s.unscored != "" {
		out = append(out, "The page has no scores: "+s.unscored+".")
	}
	if next := s.verdict.Next; next != nil {
		text := *next
		text.Command = ""
		if next.Command != "" {
			text.Options = nil
		}
		out = append(out, "Next: "+text.String()+".")
	}
	return out
}

// predictions shows the scores, and pictures of the residuals.
func predictions(s *subject) (page.Section, error) {
	section := page.Section{Title: "Predictions"}
	grid := page.Grid{Caption: "Scores of " + s.of() + ", in the units of the target"}
	grid.Heads = append(page.Words("target"), page.Numbers("rows", "RMSE", "NLPD", "variance explained", "in the 50 %", "90 %", "95 % interval", "mean of z", "rms of z")...)
	for i := range s.scores {
		c := &s.scores[i]
		m := c.summary
		grid.Add(c.target, fmt.Sprint(m.N), number(m.RMSE), number(m.NLPD), percent(m.Q2), percent(m.Coverage50), percent(m.Coverage90), percent(m.Coverage95), number(m.MeanStandardized), number(m.RMSStandardized))
		figures, err := c.figures()
		if err != nil {
			return section, err
		}
		section.Pictures = append(section.Pictures, figures...)
	}
	if len(s.scores) > 0 {
		section.Grids = append(section.Grids, grid)
		section.Notes = append(section.Notes, "z is a residual divided by the standard deviation of its prediction: standard normal if the model is right.")
	}
	if s.model.Scaling.Transform != nil {
		section.Notes = append(section.Notes, "z belongs to the transformed target, whose predictions are normal.")
	}
	if s.Rows != nil {
		if s.Rows.Predictions[0].Parts != nil {
			section.Notes = append(section.Notes, "A prediction that averages over draws is not normal: its z has the same probability below it as the target has.")
		}
		section.Notes = append(section.Notes, s.Rows.Notes...)
	} else {
		others := "all the others"
		if s.local() {
			others = "the others of its own expert"
		}
		if len(s.scores) > 0 && s.scores[0].summary.Places > 0 {
			others += " with other inputs"
		}
		section.Notes = append(section.Notes, "Leave-one-out predicts each training row from "+others+", with parameters that have seen it. Rows that the fit has not seen are a harder test.")
	}
	if s.Rows == nil && s.model.Draws.Len() > 0 {
		section.Notes = append(section.Notes, "Leave-one-out uses the parameters of the optimum; predictions of new rows average over draws of the parameters.")
	}
	if other := s.recorded(); len(other.Rows) > 0 {
		section.Grids = append(section.Grids, other)
	}
	return section, nil
}

// recorded lists the scores that the fit reported.
func (s *subject) recorded() page.Grid {
	grid := page.Grid{Caption: "Scores that the fit reported", Heads: append(page.Words("rows", "target"), page.Numbers("number", "RMSE", "NLPD", "in the 95 % interval")...)}
	r := s.Record.Report
	names := s.targets()
	test := func(name string, t *summary.TestScores) {
		if t != nil {
			grid.Add("held out", name, fmt.Sprint(t.N), number(t.RMSE), number(float64(t.NLPD)), percent(t.Coverage95))
		}
	}
	test(names[0], r.Test)
	for _, t := range r.Targets {
		test(t.Name, t.Test)
	}
	if cv := r.Scores.CrossValidation; cv != nil {
		n := 0
		for _, f := range cv.Folds {
			n += f.N
		}
		what := fmt.Sprintf("%d-fold validation", len(cv.Folds))
		for _, t := range cv.Targets {
			grid.Add(what, t.Name, fmt.Sprint(n), number(t.RMSE), number(float64(t.NLPD)), percent(t.Coverage95))
		}
		if cv.Targets == nil {
			grid.Add(what, names[0], fmt.Sprint(n), number(cv.RMSE), number(float64(cv.NLPD)), percent(cv.Coverage95))
		}
	}
	if f := r.Scores.Objective; f != nil && len(names) == 1 {
		grid.Add(fmt.Sprintf("objective of %d folds", f.Folds), names[0], fmt.Sprint(r.N), number(f.RMSE), number(f.NLPD), "-")
	}
	return grid
}
