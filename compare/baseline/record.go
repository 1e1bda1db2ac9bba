package baseline

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"gpfit/kernel"
)

// Stored is a fitted model as data that JSON can hold. One of its members is set. Everything is in the
// units of the columns and the target of the fit, except where a scale says how columns are scaled.
type Stored struct {
	Average *Average      `json:"average,omitempty"`
	Linear  *LinearRecord `json:"linear,omitempty"`
	Bayes   *BayesRecord  `json:"bayesian_linear,omitempty"`
	Spline  *SplineRecord `json:"spline,omitempty"`
	Kernel  *KernelRecord `json:"kernel,omitempty"`
	Basis   *Functions    `json:"basis,omitempty"` // with Bayes, whose columns are the functions
}

// LinearRecord is b + wᵀx.
type LinearRecord struct {
	Intercept float64   `json:"intercept"`
	Weights   []float64 `json:"weights"`
	Lambda    float64   `json:"lambda"`
	Error     *float64  `json:"validation_mse,omitempty"`
}

// MatrixRecord is a matrix, row by row.
type MatrixRecord struct {
	Rows    int       `json:"rows"`
	Columns int       `json:"columns"`
	Values  []float64 `json:"values"`
}

// AdditiveRecord is a penalized solution. A row has columns b without a penalty and columns z with one. With
// g = Coordinatesᵀb and r = z − Regressionᵀg, the mean is gᵀFree + rᵀWeights, and the variance is
// Noise·(1 + gᵀg + rᵀ(ZᵀZ + λI)⁻¹r).
type AdditiveRecord struct {
	Scale       Scaling       `json:"scale"`
	Coordinates *MatrixRecord `json:"coordinates,omitempty"`
	Regression  *MatrixRecord `json:"regression,omitempty"`
	Free        []float64     `json:"free,omitempty"`
	Weights     []float64     `json:"weights"`
	Noise       *float64      `json:"noise_variance,omitempty"`
	Lambda      float64       `json:"lambda"`
	// Upper is R with RᵀR = ZᵀZ + λI. Otherwise Rows is Z, and Lower is L with LLᵀ = ZZᵀ + λI. Otherwise
	// Vectors and Values are the right singular vectors and the singular values of Z.
	Upper   *MatrixRecord `json:"upper,omitempty"`
	Rows    *MatrixRecord `json:"rows,omitempty"`
	Lower   *MatrixRecord `json:"lower,omitempty"`
	Vectors *MatrixRecord `json:"vectors,omitempty"`
	Values  []float64     `json:"values,omitempty"`
}

// BayesRecord is Bayesian linear regression.
type BayesRecord struct {
	AdditiveRecord
	// Intercept and Slopes are posterior means in units of the columns.
	Intercept   float64   `json:"intercept"`
	Slopes      []float64 `json:"slopes"`
	PriorScale  float64   `json:"prior_scale"`
	LogEvidence float64   `json:"log_evidence"`
}

// SplineRecord is a sum of splines of scaled columns.
type SplineRecord struct {
	AdditiveRecord
	Kind        SplineKind  `json:"kind"`
	HasLevel    bool        `json:"has_intercept"`
	Knots       [][]float64 `json:"knots"`
	ScaledKnots [][]float64 `json:"scaled_knots"`
}

// KernelRecord is the function Intercept + Σ Alpha_i k(Rows_i, x) of scaled columns, for the kernel rbf with the
// parameters Theta.
type KernelRecord struct {
	Scale     Scaling      `json:"scale"`
	Rows      MatrixRecord `json:"rows"`
	Alpha     []float64    `json:"alpha"`
	Theta     []float64    `json:"theta"`
	Intercept float64      `json:"intercept"`
	Lambda    float64      `json:"lambda"`
	Width     float64      `json:"width"`
	Error     *float64     `json:"validation_mse,omitempty"`
}

// Store returns the record of a model of this package.
func Store(model Model) (*Stored, error) {
	switch m := model.(type) {
	case *Average:
		return &Stored{Average: m}, nil
	case *LassoModel:
		return Store(&m.LinearModel)
	case *LinearModel:
		return &Stored{Linear: &LinearRecord{m.Intercept, m.Weights, m.Lambda, known(m.Error)}}, nil
	case *BayesianModel:
		return &Stored{Bayes: &BayesRecord{m.record(m.Noise), m.Intercept, m.Weights, m.PriorScale, m.LogEvidence}}, nil
	case *SplineModel:
		return &Stored{Spline: &SplineRecord{m.record(m.Noise), m.Kind, m.intercept, m.Knots, m.knots}}, nil
	case *KernelModel:
		raw := matrixOf(rowsOf(m.points))
		return &Stored{Kernel: &KernelRecord{m.scale, *raw, m.Alpha, m.Theta, m.Intercept, m.Lambda, m.Width, known(m.Error)}}, nil
	case *BasisModel:
		out, err := Store(m.BayesianModel)
		out.Basis = m.Functions
		return out, err
	}
	return nil, errors.New("baseline: a model of a method in Go has no record")
}

// known returns a number, nil for one that is not finite.
func known(v float64) *float64 {
	if !finite(v) {
		return nil
	}
	return &v
}

// orUnknown is the inverse of known.
func orUnknown(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

func matrixOf(a *mat.Dense) *MatrixRecord {
	if a == nil {
		return nil
	}
	out := &MatrixRecord{}
	out.Rows, out.Columns = a.Dims()
	for i := range out.Rows {
		out.Values = append(out.Values, a.RawRowView(i)...)
	}
	return out
}

// rowsOf returns points as rows.
func rowsOf(p *kernel.Points) *mat.Dense {
	out := mat.NewDense(p.N, p.D, nil)
	for c := range p.D {
		out.SetCol(c, p.Column(c))
	}
	return out
}

func (m *additive) record(noise float64) AdditiveRecord {
	spread := &m.solution.spread
	return AdditiveRecord{
		Scale: m.scale, Coordinates: matrixOf(m.reduced.coordinates), Regression: matrixOf(m.reduced.zq), Free: m.reduced.yq,
		Weights: m.solution.weights, Noise: known(noise), Lambda: spread.lambda,
		Upper: matrixOf(spread.upper), Rows: matrixOf(spread.rows), Lower: matrixOf(spread.lower), Vectors: matrixOf(spread.v), Values: spread.s,
	}
}

// errRecord is the error of a record whose parts do not fit together.
var errRecord = errors.New("baseline: the parts of the model do not fit together")

// Model returns the model of a record for rows of d columns. An error says that its parts do not fit together.
func (r *Stored) Model(d int) (model Model, err error) {
	switch {
	case r.Average != nil:
		model, err = r.Average, check(r.Average.D == d)
	case r.Linear != nil:
		l := r.Linear
		model = &LinearModel{Weights: l.Weights, Intercept: l.Intercept, Lambda: l.Lambda, Error: orUnknown(l.Error)}
		err = check(len(l.Weights) == d)
	case r.Bayes != nil && r.Basis != nil:
		model, err = r.basis(d)
	case r.Bayes != nil:
		model, err = r.Bayes.model(d)
	case r.Spline != nil:
		model, err = r.Spline.model(d)
	case r.Kernel != nil:
		model, err = r.Kernel.model(d)
	default:
		err = errors.New("baseline: the model is of a kind that this gpfit does not know: use a newer gpfit")
	}
	if err != nil {
		return nil, err
	}
	return model, nil
}

// check returns an error unless all conditions hold.
func check(conditions ...bool) error {
	if slices.Contains(conditions, false) {
		return errRecord
	}
	return nil
}

// dense returns the matrix if it has the given rows and columns; a negative number stands for any.
func (m *MatrixRecord) dense(rows, columns int) (*mat.Dense, error) {
	if m == nil || m.Rows < 1 || m.Columns < 1 || rows >= 0 && m.Rows != rows || columns >= 0 && m.Columns != columns ||
		len(m.Values)/m.Rows != m.Columns || len(m.Values)%m.Rows != 0 {
		return nil, errRecord
	}
	return mat.NewDense(m.Rows, m.Columns, m.Values), nil
}

// check returns an error unless the scaling is one of d columns.
func (s Scaling) check(d int) error {
	positive := !slices.ContainsFunc(s.Scale, func(v float64) bool { return !(v > 0) })
	return check(len(s.Mean) == d, len(s.Scale) == d, len(s.Constant) == d, positive)
}

// additive returns the solution for d columns, of which free weights have no penalty and width have one.
func (r *AdditiveRecord) additive(d, free, width int) (out additive, err error) {
	if err := errors.Join(r.Scale.check(d), check(len(r.Weights) == width)); err != nil {
		return out, err
	}
	red := &reduced{yq: r.Free}
	if k := len(r.Free); k > 0 {
		var err2 error
		red.coordinates, err = r.Coordinates.dense(free, k)
		red.zq, err2 = r.Regression.dense(k, width)
		red.q = red.coordinates // only tells that there are columns without a penalty
		if err = errors.Join(err, err2); err != nil {
			return out, err
		}
	}
	s := spread{lambda: r.Lambda, s: r.Values}
	switch {
	case r.Upper != nil:
		s.upper, err = r.Upper.dense(width, width)
	case r.Lower != nil:
		if s.lower, err = r.Lower.dense(r.Lower.Rows, r.Lower.Rows); err == nil {
			s.rows, err = r.Rows.dense(r.Lower.Rows, width)
		}
	default:
		if s.v, err = r.Vectors.dense(width, -1); err == nil {
			err = check(len(r.Values) <= r.Vectors.Columns)
		}
	}
	return additive{r.Scale, red, &solution{r.Weights, s}}, err
}

func (r *BayesRecord) model(d int) (*BayesianModel, error) {
	if r.Noise == nil || len(r.Slopes) != d {
		return nil, errRecord
	}
	out := &BayesianModel{Weights: r.Slopes, Intercept: r.Intercept, Noise: *r.Noise, PriorScale: r.PriorScale, LogEvidence: r.LogEvidence}
	var err error
	out.additive, err = r.additive(d, 1, d)
	return out, err
}

func (r *Stored) basis(d int) (*BasisModel, error) {
	f := r.Basis
	if err := f.Scale.check(d); err != nil {
		return nil, err
	}
	outside := func(c int) bool { return c < 0 || c >= d }
	if slices.ContainsFunc(f.Terms, func(term []int) bool { return slices.ContainsFunc(term, outside) }) {
		return nil, errRecord
	}
	if f.Terms == nil {
		if _, err := f.Centres.dense(-1, d); err != nil || !(f.Width > 0) {
			return nil, errRecord
		}
	}
	bayes, err := r.Bayes.model(len(f.Names()))
	return &BasisModel{f, bayes}, err
}

func (r *SplineRecord) model(d int) (*SplineModel, error) {
	if len(r.ScaledKnots) != d || len(r.Knots) != d || !slices.Contains(SplineKinds(), r.Kind) {
		return nil, errRecord
	}
	out := &SplineModel{Kind: r.Kind, Knots: r.Knots, Lambda: r.Lambda, Noise: orUnknown(r.Noise), knots: r.ScaledKnots, intercept: r.HasLevel}
	for _, knots := range out.knots {
		for k := range knots {
			if k > 0 && !(knots[k-1] < knots[k]) {
				return nil, errRecord
			}
		}
	}
	out.prepare()
	free, width := 0, 0
	if r.HasLevel {
		free = 1
	}
	if out.free() {
		free += d
	}
	for c := range d {
		width += out.width(c)
	}
	var err error
	out.additive, err = r.additive(d, free, max(1, width))
	return out, err
}

func (r *KernelRecord) model(d int) (*KernelModel, error) {
	program, err := kernel.CompileText("rbf", d)
	if err != nil {
		return nil, err
	}
	if err := r.Scale.check(d); err != nil {
		return nil, err
	}
	rows, err := r.Rows.dense(len(r.Alpha), d)
	if err != nil || program.CheckTheta(r.Theta) != nil {
		return nil, errRecord
	}
	return &KernelModel{Lambda: r.Lambda, Width: r.Width, Theta: r.Theta, Alpha: r.Alpha, Intercept: r.Intercept, Error: orUnknown(r.Error), program: program, points: points(rows), scale: r.Scale}, nil
}

// Describe says in a few words what the model is.
func (r *Stored) Describe() string {
	switch {
	case r.Average != nil:
		return "the mean of the training targets"
	case r.Linear != nil:
		return "linear regression with a penalty"
	case r.Basis != nil && r.Basis.Terms != nil:
		return "Bayesian linear regression on products of columns"
	case r.Basis != nil:
		return fmt.Sprintf("Bayesian linear regression on %d bumps", r.Basis.Centres.Rows)
	case r.Bayes != nil:
		return "Bayesian linear regression"
	case r.Spline != nil:
		return fmt.Sprintf("%s spline of each column, added up", r.Spline.Kind)
	}
	return "kernel ridge regression with the kernel rbf"
}
