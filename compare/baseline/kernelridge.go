package baseline

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/kernel"
)

// KernelRidge is kernel ridge regression: the function f = b + Σ α_i k(x_i, ·) that minimizes
//
//	Σ (y_i − f(x_i))² + λ‖f − b‖²
//
// in the space of the kernel rbf with variance 1, with α = (K + λI)⁻¹(y − b) (ESL, eq. 5.53; RW,
// section 6.2.2). It is the mean of a Gaussian process with noise variance λ. b is the mean of the
// targets. Columns are centred and divided by their standard deviation, and the lengthscale is a
// width times the median distance of rows. Leave-one-out chooses penalty and width (RW, eq. 5.12).
// The cost is O(n³) flops and n² numbers of memory for each of about 50 pairs that are tried.
type KernelRidge struct{}

// KernelModel is a fitted kernel ridge regression: Intercept + Σ Alpha_i k(Rows_i, x) of scaled columns.
type KernelModel struct {
	Scale Scaling `json:"scale"`
	// Rows are the scaled rows of the fit, and Alpha their coefficients.
	Rows  *Matrix   `json:"rows"`
	Alpha []float64 `json:"alpha"`
	// Theta are lengthscale and variance of the kernel, for scaled columns.
	Theta     []float64 `json:"theta"`
	Intercept float64   `json:"intercept"`
	// Lambda is the penalty, and Width the multiple of the median distance.
	Lambda float64 `json:"lambda"`
	Width  float64 `json:"width"`
	// Error is the leave-one-out mean squared error, with b and the scaling of all rows.
	Error *float64 `json:"validation_mse,omitempty"`

	program *kernel.Program
	points  *kernel.Points
}

// Parameters implements [Tuned].
func (m *KernelModel) Parameters() map[string]float64 {
	return map[string]float64{"lambda": m.Lambda, "width": m.Width}
}

// complete checks the model and makes the kernel and the points.
func (m *KernelModel) complete(d int) (err error) {
	if m.program, err = kernel.CompileText("rbf", d); err != nil {
		return err
	}
	if err := errors.Join(m.Scale.check(d), check(m.Rows.is(len(m.Alpha), d)), m.program.CheckTheta(m.Theta)); err != nil {
		return errParts
	}
	m.points = points(m.Rows)
	return nil
}

// Fit fits a [*KernelModel].
func (KernelRidge) Fit(x mat.Matrix, y []float64) (Model, error) {
	if err := checkTable(x, y); err != nil {
		return nil, err
	}
	p, err := newKernelProblem(x, y)
	if err != nil {
		return nil, err
	}
	defer p.process.Close()
	for _, width := range []float64{0.25, 0.5, 1, 2, 4} {
		for _, lambda := range []float64{1e-6, 1e-4, 1e-2, 1} {
			if _, err := p.try(lambda, width); err != nil {
				return nil, err
			}
		}
	}
	return &p.best, p.refine()
}

// Predict returns means, b + Σ α_i k(x_i, x).
func (m *KernelModel) Predict(x mat.Matrix) (Prediction, error) {
	if err := checkWidth(x, m.program.D); err != nil {
		return Prediction{}, err
	}
	rows := points(matrixOf(m.Scale.apply(x)))
	ev := kernel.NewEvaluator(m.program)
	ev.Bind(m.Theta)
	out, row := make([]float64, rows.N), make([]float64, m.points.N)
	for i := range out {
		ev.Row(row, rows, i, m.points, 0, m.points.N)
		out[i] = m.Intercept + floats.Dot(row, m.Alpha)
	}
	return Prediction{Mean: out}, nil
}

func points(m *Matrix) *kernel.Points { return kernel.NewPoints(m.Values, m.Rows, m.Columns) }

// kernelProblem is the data of a kernel ridge regression and the best solution so far.
type kernelProblem struct {
	// process is the Gaussian process whose mean the regression is, with noise λ.
	process device.Workspace
	// y are the targets less their mean, and size is their mean square, 1 if that is 0.
	y    []float64
	size float64
	// theta are the parameters for width 1.
	theta []float64
	// best has the smallest value of the score.
	best  KernelModel
	value float64
}

func newKernelProblem(x mat.Matrix, y []float64) (*kernelProblem, error) {
	_, d := x.Dims()
	program, err := kernel.CompileText("rbf", d)
	if err != nil {
		return nil, err
	}
	scale := newScaling(x, Design{})
	rows := matrixOf(scale.apply(x))
	p := &kernelProblem{y: slices.Clone(y), value: math.Inf(1), best: KernelModel{Scale: scale, Rows: rows, Intercept: mean(y), program: program, points: points(rows)}}
	floats.AddConst(-p.best.Intercept, p.y)
	if p.size = squares(p.y) / float64(len(y)); p.size == 0 {
		p.size = 1
	}
	p.theta = p.at(medianDistance(p.best.points))
	host, err := cpu.New(device.Options{})
	if err != nil {
		return nil, err
	}
	p.process, err = host.NewWorkspace(context.Background(), p.best.points)
	return p, err
}

// at returns the parameters for a width, or, as long as there is no theta, for a lengthscale.
func (p *kernelProblem) at(width float64) []float64 {
	theta := slices.Repeat([]float64{1}, p.best.program.NumParams)
	for _, q := range p.best.program.Params {
		if q.Kind == kernel.Lengthscale {
			theta[q.Offset] = width
			if p.theta != nil {
				theta[q.Offset] *= p.theta[q.Offset]
			}
		}
	}
	return theta
}

// try solves for a penalty and a width, returns the score, which is +∞ if K + λI is not
// positive definite, and keeps the solution if it is the best so far.
func (p *kernelProblem) try(lambda, width float64) (float64, error) {
	ctx, alpha, inverse := context.Background(), slices.Clone(p.y), make([]float64, len(p.y))
	err := p.process.Form(ctx, p.best.program, p.at(width), []float64{lambda})
	if errors.As(err, new(*device.NotPDError)) {
		return math.Inf(1), nil
	}
	if err == nil {
		err = errors.Join(p.process.Solve(ctx, alpha, 1), p.process.(device.InverseDiagonal).InverseDiagonal(ctx, inverse))
	}
	if errors.As(err, new(*device.NonFiniteError)) || err == nil && !allFinite(alpha...) {
		return 0, errRange
	}
	if err != nil {
		return 0, err
	}
	n, loo := float64(len(p.y)), 0.0
	for i, a := range alpha { // RW, eq. 5.12
		e := a / inverse[i]
		loo += e * e / n
	}
	value := n / 2 * math.Log(loo/p.size) // does not depend on the unit of the targets
	if math.IsNaN(value) {
		return 0, errRange
	}
	if m := &p.best; m.Alpha == nil || value < p.value {
		p.value = value
		m.Lambda, m.Width, m.Theta, m.Alpha, m.Error = lambda, width, p.at(width), alpha, known(loo)
	}
	return value, nil
}

const (
	// smallestPenalty is a penalty at which rounding does not decide the solution yet, and
	// its inverse the largest penalty.
	smallestPenalty = 1e-10
	// widest and its inverse are the bounds of a width.
	widest = 1e3
	// The simplex begins with sides of the factor e^simplexSide and ends after
	// simplexTries tries, or when simplexStable of its steps did not change the score by
	// more than simplexChange. The score is a log likelihood, or n/2 times the log of an
	// error, so that a change below 1 means little.
	simplexSide   = 0.7
	simplexTries  = 40
	simplexStable = 8
	simplexChange = 1e-3
)

// refine improves the best penalty and width by the simplex of Nelder and Mead (1965) on their
// logarithms, which follows the valleys in which a larger width goes with a smaller penalty.
func (p *kernelProblem) refine() error {
	if p.best.Alpha == nil {
		return errRange
	}
	if math.IsInf(p.value, 0) { // all targets are equal
		return nil
	}
	var failed error
	score := func(at []float64) float64 {
		lambda := min(max(math.Exp(at[0]), smallestPenalty), 1/smallestPenalty)
		value, err := p.try(lambda, min(max(math.Exp(at[1]), 1/widest), widest))
		if err != nil {
			failed = err
		}
		return value
	}
	// The result is the best try, whatever made the simplex end.
	_, err := optimize.Minimize(optimize.Problem{Func: score}, []float64{math.Log(p.best.Lambda), math.Log(p.best.Width)}, &optimize.Settings{
		FuncEvaluations: simplexTries,
		Converger:       &optimize.FunctionConverge{Absolute: simplexChange, Iterations: simplexStable},
	}, &optimize.NelderMead{SimplexSize: simplexSide})
	if failed != nil {
		return failed
	}
	return err
}

// medianDistance returns the median distance of pairs of rows, from pairs that depend on
// the number of rows alone; 1 if all rows are equal.
func medianDistance(x *kernel.Points) float64 {
	const pairs = 4000
	rng := rand.New(rand.NewPCG(1, 1))
	var distances []float64
	for range pairs {
		i, j := rng.IntN(x.N), rng.IntN(x.N)
		sum := 0.0
		for c := range x.D {
			sum = math.Hypot(sum, x.Column(c)[i]-x.Column(c)[j])
		}
		if sum > 0 {
			distances = append(distances, sum)
		}
	}
	if distances == nil {
		return 1
	}
	slices.Sort(distances)
	return distances[len(distances)/2]
}
