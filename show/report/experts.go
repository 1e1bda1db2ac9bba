package report

import (
	"context"
	"fmt"
	"slices"

	"gpfit/fit/fields"
	"gpfit/gp"
	"gpfit/internal/textform"
	"gpfit/method/experts"
	"gpfit/show/page"
)

// localExperts shows how local experts divide the rows, and says what they lack.
type localExperts struct{ *subject }

func (e *localExperts) section(context.Context) (page.Section, error) {
	section, p := page.Section{Title: "Local experts"}, e.experts
	if p == nil {
		return section, nil
	}
	section.Notes = []string{
		fmt.Sprintf("k-means divides the training rows among %s, each an exact process. This is an approximation: the covariance of rows of different experts counts as 0.", textform.Counted(len(p.Centres), "expert")),
		ruleText(p), "All experts share the parameters.",
		"Experts have no terms of a sum of kernels, no joint draws, no covariances and no weights, so the page does not show terms.",
	}
	if e.Rows != nil {
		section.Notes = append(section.Notes, "The scores of this page are those of "+e.Rows.Of+", so the table of experts has none. A page without DATA has leave-one-out scores of each expert.")
	}
	table, err := e.list()
	section.Tables = fields.Filled(table, ruleScores(p))
	return section, err
}

// ruleText says how the experts predict together, and what chose the rule.
func ruleText(p *experts.Partition) string {
	if p.Chosen && p.Scores != nil {
		return ruleWords(p) + " The scores of the rules on left-out training rows chose the rule."
	}
	return ruleWords(p)
}

func ruleWords(p *experts.Partition) string {
	if p.Combine == experts.Nearest {
		return "The expert whose centre is nearest predicts a row (rule nearest). Predictions jump where another expert becomes the nearest one."
	}
	text := "All experts predict a row together, as a robust Bayesian committee machine (rule rbcm)"
	if p.Temperature > 0 {
		text += fmt.Sprintf("; its temperature, found on training rows, is %s", short(p.Temperature))
	}
	return text + "."
}

// list lists the experts with the leave-one-out scores of their rows.
func (e *localExperts) list() (fields.Table, error) {
	rows, err := experts.Blocks(e.model.State, e.model.Points())
	t := fields.Table{Caption: "Experts", Heads: fields.Numbers("expert", "rows")}
	scored := e.scores
	if e.Rows != nil {
		scored = nil
	}
	for i := range scored {
		t.Caption = "Experts, with leave-one-out scores of their rows in the units of the target"
		for _, head := range scoreHeads() {
			head.Text = scored[i].named(head.Text)
			t.Heads = append(t.Heads, head)
		}
	}
	for k, own := range rows {
		cells := []string{fmt.Sprint(k), fmt.Sprint(len(own))}
		for i := range scored {
			cells = append(cells, scoreTexts(summaryOf(&scored[i].LeaveOneOut, own))...)
		}
		t.Add(cells...).Cells[1].Bar = float64(len(own)) / float64(slices.Max(e.experts.Sizes))
	}
	return t, err
}

// summaryOf returns the scores of some rows.
func summaryOf(l *gp.LeaveOneOut, rows []int) gp.LeaveOneOutSummary {
	var own gp.LeaveOneOut
	for _, i := range rows {
		own.Target, own.Residual = append(own.Target, l.Target[i]), append(own.Residual, l.Residual[i])
		own.Standardized, own.LogDensity = append(own.Standardized, l.Standardized[i]), append(own.LogDensity, l.LogDensity[i])
	}
	return own.Summary()
}

// ruleScores compares the rules on training rows.
func ruleScores(p *experts.Partition) fields.Table {
	t := fields.Of(p.Scores, slices.Concat([]string{"combine", "rows"}, fields.Scores)...)
	t.Caption = "Rules on training rows that they leave out, in units of the scaled target"
	for i, one := range p.Scores {
		t.Rows[i].Best = one.Combine == p.Combine
	}
	return t
}
