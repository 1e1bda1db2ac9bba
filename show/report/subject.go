package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gpfit/fit/dataset"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/score"
	"gpfit/internal/textform"
	"gpfit/method/experts"
	"gpfit/show/effect"
)

// Subject is the model of a page, with the rows to score.
type Subject struct {
	// Name is the name of the model, for the title.
	Name string
	// Posterior is the model on its data.
	Posterior *gp.Posterior
	// Record says how the model was fitted; nil if that is unknown.
	Record *summary.ModelRecord
	// Rows are rows to score, with their predictions for each target. Without them, the
	// scores come from leave-one-out.
	Rows *Scored
	// Threads is the number of threads for work on the host, 0 for all.
	Threads int
}

// subject is a Subject with everything that several sections need.
type subject struct {
	Subject
	model *gp.Model
	// experts divides the rows of a model of several local experts; nil for another.
	experts *experts.Partition
	// scores has an element for each target; it is empty, and unscored says why, if there are none.
	scores   []scores
	unscored string
	verdict  *summary.Verdict
	// axes are the columns of the table in use, most relevant first.
	axes    []axis
	effects []curve
	terms   []term
	// stretches are parts of the series of a model of one time; nil for other models.
	stretches []stretch
	// relevance lists the columns in use, most relevant first.
	relevance []summary.ColumnRelevance
}

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

// scores are predictions of rows of one target with the observed values, and their summary.
type scores struct {
	ofTarget
	// of says which rows these are.
	of string
	gp.LeaveOneOut
	summary gp.LeaveOneOutSummary
	// density returns the predictive density of a row, and row its number in its table, from 0.
	density func(i int) score.Predictive
	row     func(i int) int
}

// axis is a column of the table with the values along which it varies, and rows of features
// with these values and typical ones of the other columns.
type axis struct {
	effect.Variable
	// whole is the variable with all its categories, and with their full names.
	whole     effect.Variable
	relevance float64
	values    []float64
	rows      dataset.Rows
}

// curve is a prediction of a target along a column.
type curve struct {
	ofTarget
	along *axis
	*gp.Prediction
}

// term is a term of a sum of kernels, for one target.
type term struct {
	curve      // its Prediction is nil for the mean function
	path, text string
	// size is the standard deviation of the term's mean over training rows, in units of
	// the target, and share the same in units of the target's standard deviation.
	size, share float64
}

// stretch is a part of a series with its forecast.
type stretch struct {
	caption     string
	times       []float64
	predictions []*gp.Prediction
}

// targets returns the names of the targets.
func (s *subject) targets() []string { return s.model.TargetNames() }

// ofTarget says which target something belongs to, of one or several.
type ofTarget struct {
	target  string
	several bool
}

// each returns the targets.
func (s *subject) each() []ofTarget {
	var out []ofTarget
	names := s.targets()
	for _, name := range names {
		out = append(out, ofTarget{name, len(names) > 1})
	}
	return out
}

// named returns text with the name of the target in front if there are several.
func (t ofTarget) named(text string) string {
	if t.several {
		return t.target + ": " + text
	}
	return text
}

// table returns the name of the training table without its folder.
func (s *subject) table() string {
	if s.Record.Data == "" || s.Record.Data == "-" {
		return "its table"
	}
	return baseName(s.Record.Data)
}

// baseName returns the last part of a path of any system.
func baseName(path string) string {
	path = strings.TrimRight(path, `/\`)
	return path[strings.LastIndexAny(path, `/\`)+1:]
}

// of says which rows the scores are about.
func (s *subject) of() string {
	if s.Rows != nil {
		return s.Rows.Of
	}
	if len(s.scores) > 0 {
		return summary.LeftOut(s.scores[0].summary.Places)
	}
	return summary.LeftOut(0)
}

// number and short return a number with five and with three digits.
func number(v float64) string { return digits(v, 5) }
func short(v float64) string  { return digits(v, 3) }

func digits(v float64, n int) string {
	return strings.NewReplacer("+Inf", "∞", "-Inf", "−∞", "NaN", "-").Replace(fmt.Sprintf("%.*g", n, v))
}

func percent(share float64) string {
	if math.IsNaN(share) || math.IsInf(share, 0) {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*share)
}

// parameterNames returns the names of the parameters in the order of the model, and the
// names that have a value in units of the table alone.
func (s *subject) parameterNames(values map[string]float64) []string {
	m := s.model
	columns, seen := textform.Columns(m.FeatureNames), map[string]bool{}
	var out []string
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	original := slices.Sorted(maps.Keys(s.Record.Report.ParametersOriginalUnits))
	for _, name := range m.ParameterNames {
		name = columns.Display(name)
		add(name)
		for _, part := range original {
			if strings.HasPrefix(part, name+"[") {
				add(part)
			}
		}
	}
	for _, name := range append(slices.Sorted(maps.Keys(values)), original...) {
		add(name)
	}
	return out
}
