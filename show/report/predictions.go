package report

import (
	"context"
	"fmt"

	"gpfit/fit/fields"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/show/page"
)

// number and short return a number with five and with three digits, percent a share.
func number(v float64) string  { return fields.Field{Form: "%.5g"}.Text(v) }
func short(v float64) string   { return fields.Field{Form: "%.3g"}.Text(v) }
func percent(v float64) string { return fields.Named("coverage95").Text(v) }

// scoreHeads returns the heads of columns of scores, and scoreTexts the scores of a struct, "-" for scores that it lacks.
func scoreHeads() (heads []fields.Head) {
	for _, path := range fields.Scores {
		heads = append(heads, fields.Numbers(fields.Named(path).Head)...)
	}
	return heads
}

func scoreTexts(scores any) (texts []string) {
	for _, path := range fields.Scores {
		v, _ := fields.Lookup(scores, path)
		texts = append(texts, fields.Named(path).Text(v))
	}
	return texts
}

// predictions shows the scores, and pictures of the residuals.
type predictions struct{ *subject }

func (p *predictions) section(context.Context) (page.Section, error) {
	section := page.Section{Title: "Predictions"}
	type line struct {
		Target string `json:"target"`
		gp.LeaveOneOutSummary
	}
	var lines []line
	for i := range p.scores {
		lines = append(lines, line{p.scores[i].target, p.scores[i].summary})
		if err := p.scores[i].draw(&section); err != nil {
			return section, fmt.Errorf("pictures of %s: %w", p.scores[i].target, err)
		}
	}
	table := fields.Of(lines, "target", "n", "rmse", "nlpd", "q2", "coverage50", "coverage90", "coverage95", "mean_standardized", "rms_standardized")
	table.Caption = "Scores of " + p.of + ", in the units of the target"
	section.Tables = append(fields.Filled(table, p.recorded()), p.horizons()...)
	section.Notes = p.notes()
	return section, nil
}

// notes explain the scores.
func (p *predictions) notes() (notes []string) {
	add := func(applies bool, note string) {
		if applies {
			notes = append(notes, note)
		}
	}
	add(len(p.scores) > 0, "z is a residual divided by the standard deviation of its prediction: standard normal if the model is right.")
	add(p.model.Scaling.Transform != nil, "z belongs to the transformed target, whose predictions are normal.")
	if p.Rows != nil {
		add(p.Rows.Predictions[0].Parts != nil, "A prediction that averages over draws is not normal: its z has the same probability below it as the target has.")
		return append(notes, p.Rows.Notes...)
	}
	others := "all the others"
	if p.experts != nil {
		others = "the others of its own expert"
	}
	if len(p.scores) > 0 && p.scores[0].summary.Places > 0 {
		others += " with other inputs"
	}
	add(true, "Leave-one-out predicts each training row from "+others+", with parameters that have seen it. Rows that the fit has not seen are a harder test.")
	add(p.model.Draws.Len() > 0, "Leave-one-out uses the parameters of the optimum; predictions of new rows average over draws of the parameters.")
	return notes
}

// horizons lists the scores of the forecasts that the fit reported, by horizon.
func (p *predictions) horizons() (tables []fields.Table) {
	add := func(target string, scores *summary.TestScores) {
		if scores != nil && scores.Horizons != nil {
			t := scores.HorizonTable()
			t.Caption = fmt.Sprintf("Forecast of %s by horizon, beside the naive forecast: %s", target, scores.Naive)
			tables = append(tables, t)
		}
	}
	add(p.model.TargetName, p.fit.Test)
	for _, target := range p.fit.Targets {
		add(target.Name, target.Test)
	}
	return tables
}

// recorded lists the scores that the fit reported.
func (p *predictions) recorded() fields.Table {
	t := fields.Table{Caption: "Scores that the fit reported", Heads: append(fields.Words("rows", "target"), fields.Head{Text: "number"})}
	t.Heads = append(t.Heads, scoreHeads()...)
	add := func(rows, target string, n int, scores any) {
		t.Add(append([]string{rows, target, fmt.Sprint(n)}, scoreTexts(scores)...)...)
	}
	r, names := p.fit, p.model.TargetNames()
	if r.Test != nil {
		add("held out", names[0], r.Test.N, r.Test)
	}
	for _, target := range r.Targets {
		if target.Test != nil {
			add("held out", target.Name, target.Test.N, target.Test)
		}
	}
	if cv := r.Scores.CrossValidation; cv != nil {
		n, rows := 0, fmt.Sprintf("%d-fold validation", len(cv.Folds))
		for _, f := range cv.Folds {
			n += f.N
		}
		for _, target := range cv.Targets {
			add(rows, target.Name, n, target)
		}
		if cv.Targets == nil {
			add(rows, names[0], n, cv)
		}
	}
	if f := r.Scores.Objective; f != nil && len(names) == 1 {
		add(fmt.Sprintf("objective of %d folds", f.Folds), names[0], r.N, f.LeaveOneOutScore)
	}
	return t
}
