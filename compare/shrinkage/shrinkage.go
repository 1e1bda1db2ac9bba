// Package shrinkage computes how weights shrink with the penalty: the paths of ridge regression and
// of the lasso. Start at [Run].
package shrinkage

import (
	"context"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"gpfit/compare/baseline"
	"gpfit/fit/columns"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/matrixrows"
	"gpfit/internal/score"
	"gpfit/internal/workers"
	"gpfit/table/feature"
)

// Penalty names what is penalized.
type Penalty string

// The penalties.
const (
	// Ridge is λ‖w‖², added to the sum of squares.
	Ridge Penalty = "ridge"
	// Lasso is λ‖w‖₁, added to the sum of squares divided by 2n.
	Lasso Penalty = "lasso"
)

// Penalties returns all penalties, the default first.
func Penalties() []Penalty { return []Penalty{Ridge, Lasso} }

// Options configures [Run].
type Options struct {
	Penalty Penalty
	// Lambdas are the values of the penalty; nil stands for 100 from the data.
	Lambdas []float64
	// NoIntercept leaves out the intercept; columns are then not centred.
	NoIntercept bool
}

// Result is a path. Each list of it has an element for each λ, the largest first.
type Result struct {
	Type          string `json:"type"`
	SchemaVersion int    `json:"schema_version"`
	// N counts training rows, NValidation held-out rows.
	N           int              `json:"n"`
	NValidation int              `json:"n_validation"`
	Features    []string         `json:"features"`
	Target      string           `json:"target"`
	Penalty     Penalty          `json:"penalty"`
	Standardize gp.Standardize   `json:"standardize"`
	Reading     *feature.Reading `json:"reading,omitempty"`
	Lambdas     []float64        `json:"lambdas"`
	// Weights and Intercepts are in original units. Standardized are the weights in standard
	// deviations: how many of the target's the prediction changes by with one of the column's.
	Weights      [][]float64 `json:"weights"`
	Standardized [][]float64 `json:"weights_standardized"`
	Intercepts   []float64   `json:"intercepts"`
	// Freedom are effective numbers of parameters, with the intercept.
	Freedom []float64 `json:"degrees_of_freedom"`
	// Training and Validation are RMSEs in units of the target. Validated says of which rows the
	// latter are: held-out, leave-one-out, cross-validation. An element without a value is nil.
	Training   []*float64 `json:"training_rmse"`
	Validation []*float64 `json:"validation_rmse"`
	Validated  string     `json:"validated_by"`
	// Best is the index of the smallest validation error; nil without one.
	Best *int `json:"best"`
	// Violations are the largest violations of the conditions of the lasso's minimum, in units of λ; nil for ridge
	// regression, whose equations are solved directly.
	Violations []float64 `json:"violations,omitempty"`
	Warnings   []string  `json:"warnings"`
}

// The rows of the validation errors.
const (
	heldOut         = "held-out rows"
	leaveOneOut     = "leave-one-out"
	crossValidation = "cross-validation"
)

// Run computes the path for the training rows of data. How says how the table is scaled, in whose
// units the penalty acts, which rows are held out, and the seed of the lasso's folds; the rest of it
// is about Gaussian processes. Errors: [*problem.OptionError], [*problem.DataError],
// [*problem.CancelledError], and an error if the numbers cannot be computed with.
func Run(ctx context.Context, data problem.Data, how problem.Options, o Options) (*Result, error) {
	if data.TargetNames != nil {
		return nil, problem.OptionErrorf("target", "", "a path is of one target; compute it for each target separately")
	}
	data, err := data.WithHoldOut(how)
	if err != nil {
		return nil, err
	}
	scaled, err := data.Scaled(how.Standardize)
	if err != nil {
		return nil, err
	}
	p := &paths{data: data, scaled: scaled, o: o, x: mat.NewDense(scaled.N, scaled.D, scaled.X)}
	p.design = baseline.Design{NoIntercept: o.NoIntercept, Unscaled: true}
	path, err := workers.Await(ctx, func() (*baseline.Path, error) { return p.path(how.Settings.Seed) })
	if ctx.Err() != nil {
		return nil, &problem.CancelledError{Msg: "interrupted before the path was done"}
	}
	if err != nil {
		return nil, err
	}
	out := p.result(path)
	out.Standardize = how.Standardize
	return out, nil
}

// paths computes a path.
type paths struct {
	data   problem.Data
	scaled *problem.ScaledRows
	x      *mat.Dense
	o      Options
	design baseline.Design
}

// path fits all penalties and estimates their errors, unless rows are held out.
func (p *paths) path(seed uint64) (*baseline.Path, error) {
	if p.o.Penalty == Ridge {
		return baseline.Ridge{Design: p.design, Lambdas: p.o.Lambdas}.Path(p.x, p.scaled.Y)
	}
	lasso := baseline.Lasso{Design: p.design, Lambdas: p.o.Lambdas, Seed: seed}
	path, err := lasso.Path(p.x, p.scaled.Y)
	if err == nil && !slices.Contains(p.data.Test, true) && p.scaled.N > 1 {
		err = lasso.Validate(p.x, p.scaled.Y, path)
	}
	return path, err
}

// result converts a path to original units and adds the errors.
func (p *paths) result(path *baseline.Path) *Result {
	scaling := p.scaled.Scaling
	out := &Result{
		Type: "path", SchemaVersion: summary.SchemaVersion, N: p.scaled.N, Features: p.data.FeatureNames, Target: p.data.TargetName, Penalty: p.o.Penalty,
		Reading: p.data.Reading, Lambdas: path.Lambdas, Freedom: path.Freedom, Violations: path.Violations, Warnings: slices.Concat([]string{}, p.data.Warnings, p.scaled.Warnings),
		Validated: leaveOneOut,
	}
	if p.o.Penalty == Lasso {
		out.Validated = crossValidation
	}
	for c := len(out.Features); c < p.data.D; c++ {
		out.Features = append(out.Features, "x"+strconv.Itoa(c))
	}
	training, held := p.rows(false), p.rows(true)
	if out.NValidation = held.N; held.N > 0 {
		out.Validated = heldOut
	}
	spread := deviations(training)
	for i := range path.Lambdas {
		w, standardized, b := make([]float64, p.data.D), make([]float64, p.data.D), path.Intercepts[i]
		for k, c := range p.scaled.Columns {
			slope := path.Weights[i][k]
			b -= slope * scaling.XMean[k] / scaling.XScale[k]
			w[c] = slope / scaling.XScale[k] * scaling.YScale
			standardized[c] = w[c] * spread[c] / spread[p.data.D]
		}
		out.Weights, out.Standardized = append(out.Weights, w), append(out.Standardized, standardized)
		out.Intercepts = append(out.Intercepts, scaling.YMean+b*scaling.YScale)
		out.Training = append(out.Training, out.rmse(i, training))
		switch {
		case held.N > 0:
			out.Validation = append(out.Validation, out.rmse(i, held))
		case path.Errors != nil:
			out.Validation = append(out.Validation, summary.Finite(math.Sqrt(path.Errors[i])*scaling.YScale))
		default:
			out.Validation = append(out.Validation, nil)
		}
		if v := out.Validation[i]; v != nil && (out.Best == nil || *v < *out.Validation[*out.Best]) {
			out.Best = &i
		}
	}
	return out
}

// rows returns the rows that are held out, or the others.
func (p *paths) rows(held bool) problem.Data {
	return p.data.Rows(matrixrows.Marked(p.data.Test, p.data.N, held))
}

// rmse returns the error of the model with λ of index i on rows.
func (r *Result) rmse(i int, rows problem.Data) *float64 {
	sum := 0.0
	for k, y := range rows.Y {
		for c, w := range r.Weights[i] {
			y -= w * rows.X[k*rows.D+c]
		}
		y -= r.Intercepts[i]
		sum += y * y / float64(rows.N)
	}
	return summary.Finite(math.Sqrt(sum))
}

// deviations returns the standard deviations of the columns and of the target.
func deviations(rows problem.Data) []float64 {
	var out []float64
	for c := range rows.D {
		out = append(out, score.Deviation(columns.Of(rows.X, rows.N, c)))
	}
	return append(out, score.Deviation(rows.Y))
}
