package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gpfit/device"
	"gpfit/fit/dataset"
	"gpfit/fit/residual"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/score"
)

// Scored holds rows that the model did not train on, and what it predicts for them.
type Scored struct {
	// Of says what the rows are, such as "held-out rows".
	Of   string
	Rows dataset.Rows
	// Numbers are the numbers of the rows in their table, from 0; nil if they are all of its rows.
	Numbers []int
	// Predictions has an element for each target.
	Predictions []*gp.Prediction
	// Notes say how the rows were chosen and predicted.
	Notes []string
}

// NewScored returns the rows of a table that m did not train on. If the fit used this
// table, these are its other rows, and a note says so; it has none if m trained on all
// of them. Blank rows are left out.
func NewScored(m *gp.Model, name string, all dataset.Rows) *Scored {
	out := &Scored{Of: "rows of " + name, Rows: all}
	for i := range all.Total {
		if all.Blank == nil || !all.Blank[i] {
			out.Numbers = append(out.Numbers, i)
		}
	}
	if blank := all.Total - all.N; blank > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d of %d rows of %s have missing values and are left out.", blank, all.Total, name))
	}
	trained := out.trainedOn(m)
	if trained == nil {
		return out
	}
	var which, numbers []int
	for i, number := range out.Numbers {
		if !trained[number] {
			which, numbers = append(which, i), append(numbers, number)
		}
	}
	out.Rows, out.Numbers = all.Pick(which), numbers
	out.Of = fmt.Sprintf("rows of %s that the fit did not use", name)
	out.Notes = append(out.Notes, fmt.Sprintf("%s is the table of the fit: its %d training rows are left out.", name, m.N()))
	return out
}

// trainedOn returns the numbers of the training rows if each of them is the row of the
// table with its number, and nil otherwise: then the table is another one.
func (s *Scored) trainedOn(m *gp.Model) map[int]bool {
	at := map[int]int{}
	for i, number := range s.Numbers {
		at[number] = i
	}
	trained := map[int]bool{}
	for k := range m.N() {
		i, ok := at[m.Row(k)]
		if !ok || !s.same(m, i, k) {
			return nil
		}
		trained[m.Row(k)] = true
	}
	return trained
}

// same reports whether row i of the table is training row k.
func (s *Scored) same(m *gp.Model, i, k int) bool {
	width, d := len(m.FeatureNames), len(m.Columns)
	for c, f := range m.Columns {
		if s.Rows.X[i*width+f] != m.X[k*d+c] {
			return false
		}
	}
	for t, y := range s.Rows.Observed {
		if y[i] != m.Y[t*m.N()+k] {
			return false
		}
	}
	return true
}

// number returns the number of a row in its table.
func (s *Scored) number(i int) int {
	if s.Numbers == nil {
		return i
	}
	return s.Numbers[i]
}

// scored holds the scores of a page.
type scored struct {
	// of says which rows the scores are about.
	of string
	// scores has an element for each target; it is empty, and unscored says why, if there are none.
	scores   []scores
	unscored string
	verdict  *summary.Verdict
}

// scores are predictions of rows of one target with the observed values, and their summary.
type scores struct {
	ofTarget
	// of says which rows these are.
	of string
	gp.LeaveOneOut
	summary gp.LeaveOneOutSummary
	// density returns the predictive density of a row, row its number in its table, from 0, and inputs its features.
	density func(i int) score.Predictive
	row     func(i int) int
	inputs  func(i int) []float64
}

// scoresOf finds the scores: of the given rows, or of each training row from the others.
func scoresOf(ctx context.Context, s *subject) (scored, error) {
	out := scored{of: summary.LeftOut(0)}
	if s.Rows != nil {
		out.of = s.Rows.Of
	}
	for t, name := range s.each() {
		one := scores{ofTarget: name, row: s.model.Row, inputs: s.trainingRow}
		if s.Rows != nil {
			s.Rows.residuals(t, &one)
		} else if left, err := s.Posterior.Target(t).LeaveOneOut(ctx); err == nil {
			one.LeaveOneOut, one.density = *left, left.Density
		} else if out.scores, out.unscored = nil, err.Error(); fatal(ctx, err) {
			return out, err
		} else {
			break
		}
		if len(one.Target) == 0 {
			continue
		}
		if one.summary = one.Summary(); s.Rows == nil {
			out.of = summary.LeftOut(one.summary.Places)
		}
		one.of = out.of
		out.scores = append(out.scores, one)
	}
	if len(out.scores) == 0 && out.unscored == "" {
		out.unscored = "no row has an observed target"
	}
	out.verdict = out.judge(s)
	return out, nil
}

// fatal reports whether an error of leave-one-out ends the work. Others say why scores are undefined, which the page
// shows.
func fatal(ctx context.Context, err error) bool {
	var memory *device.MemoryError
	var lost *device.LostError
	return ctx.Err() != nil || errors.As(err, &memory) || errors.As(err, &lost)
}

// residuals compares the predictions of target t with the observations that are there.
func (s *Scored) residuals(t int, out *scores) {
	p := s.Predictions[t]
	rows, at := residual.Of(p, s.Rows.Observed[t])
	out.LeaveOneOut, out.density = *rows, func(i int) score.Predictive { return p.Density(at[i]) }
	out.row = func(i int) int { return s.number(at[i]) }
	width := len(s.Rows.X) / max(1, s.Rows.N)
	out.inputs = func(i int) []float64 { return s.Rows.X[at[i]*width:][:width] }
}

// judge returns the verdict on the model: the verdict of its fit, or the verdict on the rows that the
// page was given.
func (c *scored) judge(s *subject) *summary.Verdict {
	if v := s.fit.Verdict; v != nil && (s.Rows == nil || s.Rows.Of == summary.HeldOutRows) {
		return v
	}
	var evidence []summary.Evidence
	for _, one := range c.scores {
		t, n := slices.Index(s.model.TargetNames(), one.target), s.model.N()
		scale, name := gp.NewScaling(gp.StandardizeY, nil, s.model.Y[t*n:(t+1)*n], 0).YScale, ""
		if one.several {
			name = one.target
		}
		all := residual.Scores(&one.LeaveOneOut, s.model, scale, s.fit.Robust != nil, s.Rows == nil)
		evidence = append(evidence, summary.NewEvidence(all, c.of, name))
	}
	return s.fit.JudgedOn(evidence)
}

// headline is the verdict, and what to do next.
func (c *scored) headline() []string {
	out := []string{strings.ToUpper(c.verdict.Headline[:1]) + c.verdict.Headline[1:] + "."}
	if c.unscored != "" {
		out = append(out, "The page has no scores: "+c.unscored+".")
	}
	if next := c.verdict.Next; next != nil {
		text := *next
		text.Command = ""
		if next.Command != "" {
			text.Options = nil
		}
		out = append(out, "Next: "+text.String()+".")
	}
	return out
}
