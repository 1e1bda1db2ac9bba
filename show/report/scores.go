package report

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gpfit/device"
	"gpfit/fit/residual"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/score"
	"gpfit/show/page"
)

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

// residuals compares the predictions of target t with the observations that are there.
func (s *Scored) residuals(t int, out *scores) {
	p := s.Predictions[t]
	rows, at := residual.Of(p, s.Rows.Observed[t])
	out.LeaveOneOut, out.density = *rows, func(i int) score.Predictive { return p.Density(at[i]) }
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
	if v := r.Verdict; v != nil && (s.Rows == nil || s.Rows.Of == summary.HeldOutRows) {
		return v
	}
	var evidence []summary.Evidence
	for _, c := range s.scores {
		t, n := slices.Index(s.targets(), c.target), s.model.N()
		scale, name := gp.NewScaling(gp.StandardizeY, nil, s.model.Y[t*n:(t+1)*n], 0).YScale, ""
		if c.several {
			name = c.target
		}
		scored := residual.Scores(&c.LeaveOneOut, s.model, scale, r.Robust != nil, s.Rows == nil)
		evidence = append(evidence, summary.NewEvidence(scored, s.of(), name))
	}
	return r.JudgedOn(evidence)
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
		if s.experts != nil {
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
