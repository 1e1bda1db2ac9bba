package report

import (
	"fmt"
	"slices"

	"gpfit/gp"
	"gpfit/internal/textform"
	"gpfit/method/experts"
	"gpfit/show/page"
)

// localExperts shows how local experts divide the rows, and says what they lack.
func localExperts(s *subject) (page.Section, error) {
	section, p := page.Section{Title: "Local experts"}, s.experts
	if p == nil {
		return section, nil
	}
	section.Notes = []string{
		fmt.Sprintf("k-means divides the training rows among %s, each an exact process. This is an approximation: the covariance of rows of different experts counts as 0.", textform.Counted(len(p.Centres), "expert")),
		ruleText(p), "All experts share the parameters.",
		"Experts have no terms of a sum of kernels, no joint draws, no covariances and no weights, so the page does not show terms.",
	}
	if s.Rows != nil {
		section.Notes = append(section.Notes, "The scores of this page are those of "+s.Rows.Of+", so the table of experts has none. A page without DATA has leave-one-out scores of each expert.")
	}
	grid, err := s.expertsGrid()
	section.Grids = page.Filled(grid, ruleScores(p))
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

// expertsGrid lists the experts with the leave-one-out scores of their rows.
func (s *subject) expertsGrid() (page.Grid, error) {
	rows, err := experts.Blocks(s.model.State, s.model.Points())
	grid := page.Grid{Caption: "Experts", Heads: page.Numbers("expert", "rows")}
	scored := s.Rows == nil && len(s.scores) > 0
	if scored {
		grid.Caption += ", with leave-one-out scores of their rows in the units of the target"
		for i := range s.scores {
			for _, name := range []string{"RMSE", "NLPD", "in the 95 % interval"} {
				grid.Heads = append(grid.Heads, page.Numbers(s.scores[i].named(name))...)
			}
		}
	}
	for k, own := range rows {
		cells := []string{fmt.Sprint(k), fmt.Sprint(len(own))}
		for i := range s.scores {
			if scored {
				one := summaryOf(&s.scores[i].LeaveOneOut, own)
				cells = append(cells, number(one.RMSE), number(one.NLPD), percent(one.Coverage95))
			}
		}
		line := page.NewRow(cells...)
		line.Cells[1].Bar = float64(len(own)) / float64(slices.Max(s.experts.Sizes))
		grid.Rows = append(grid.Rows, line)
	}
	return grid, err
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
func ruleScores(p *experts.Partition) page.Grid {
	grid := page.Grid{Caption: "Rules on training rows that they leave out, in units of the scaled target", Heads: append(page.Words("rule"), page.Numbers("rows", "RMSE", "NLPD", "in the 95 % interval")...)}
	for i, one := range p.Scores {
		grid.Add(string(one.Combine), fmt.Sprint(one.Rows), number(one.RMSE), number(one.NLPD), percent(one.Coverage95))
		grid.Rows[i].Best = one.Combine == p.Combine
	}
	return grid
}
