package baseline

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"gpfit/internal/spd"
	"gpfit/kernel"
)

// candidate is a penalty and a width.
type candidate struct{ lambda, width float64 }

// kernelProblem is the data of a kernel ridge regression and the best solution so far.
type kernelProblem struct {
	// matrix holds the factor of K + λI, then its inverse.
	matrix  *spd.Symmetric
	program *kernel.Program
	scale   scaling
	points  *kernel.Points
	y       []float64
	level   float64
	// size is the mean square of y, 1 if that is 0.
	size float64
	// theta are the parameters for width 1, and lengthscales the elements that a width
	// multiplies.
	theta        []float64
	lengthscales []int

	// covariance is K for the width formed, with any diagonal, and diagonal its own.
	covariance, diagonal []float64
	formed               float64

	// best and alpha have the smallest value of the score.
	best       candidate
	value, loo float64
	alpha      []float64
	// failure is the error of the last attempt that has no score.
	failure error
}

// at returns θ for a width.
func (p *kernelProblem) at(width float64) []float64 {
	theta := append([]float64(nil), p.theta...)
	for _, i := range p.lengthscales {
		theta[i] *= width
	}
	return theta
}

// try solves for a penalty and a width, returns the score, which is +∞ if K + λI is not
// positive definite, and keeps the solution if it is the best so far.
func (p *kernelProblem) try(c candidate) (float64, error) {
	n := len(p.y)
	p.form(c.width)
	for i, v := range p.diagonal {
		p.covariance[i*n+i] = v + c.lambda
	}
	p.matrix.Load(p.covariance)
	ctx := context.Background() // whose only error is its end
	if minor, _ := p.matrix.Factor(ctx, 0, nil); minor > 0 {
		p.failure = fmt.Errorf("baseline: K + λI of %s is not positive definite with λ = %.4g; give a larger penalty", p.program.Text, c.lambda)
		return math.Inf(1), nil
	}
	alpha := append([]float64(nil), p.y...)
	_ = p.matrix.SolveEquations(ctx, alpha, 1)
	if !allFinite(alpha...) {
		return 0, errRange
	}
	_ = p.matrix.Invert(ctx, nil)
	loo := 0.0
	for i, a := range alpha { // RW, eq. 5.12
		e := a / p.matrix.InverseElement(i, i)
		loo += e * e / float64(n)
	}
	value := float64(n) / 2 * math.Log(loo/p.size) // does not depend on the unit of the targets
	if math.IsNaN(value) {
		return 0, errRange
	}
	if p.alpha == nil || value < p.value {
		p.best, p.value, p.alpha, p.loo = c, value, alpha, loo
	}
	return value, nil
}

// form computes the lower triangle of K.
func (p *kernelProblem) form(width float64) {
	if p.formed == width {
		return
	}
	n := len(p.y)
	if p.covariance == nil {
		p.covariance, p.diagonal = make([]float64, n*n), make([]float64, n)
	}
	ev := kernel.NewEvaluator(p.program)
	ev.Bind(p.at(width))
	for i := range n {
		ev.Row(p.covariance[i*n:], p.points, i, p.points, 0, i+1)
		p.diagonal[i] = p.covariance[i*n+i]
	}
	p.formed = width
}

// meanVariance returns the mean of k(x, x) over the rows.
func (p *kernelProblem) meanVariance() float64 {
	ev := kernel.NewEvaluator(p.program)
	ev.Bind(p.at(1))
	diagonal := make([]float64, len(p.y))
	ev.Diagonal(diagonal, p.points, 0, len(diagonal))
	return mean(diagonal)
}

// model returns the best solution.
func (p *kernelProblem) model() *KernelModel {
	return &KernelModel{
		Kernel: p.program.Text, Theta: p.at(p.best.width), Lambda: p.best.lambda, Width: p.best.width,
		Alpha: p.alpha, Intercept: p.level, Error: p.loo,
		program: p.program, points: p.points, scale: p.scale,
	}
}

// KernelModel is a fitted kernel ridge regression.
type KernelModel struct {
	// Kernel is the kernel's text, and Theta its parameters, for scaled columns.
	Kernel string
	Theta  []float64
	// Lambda is the penalty. Width is the chosen multiple of the median distance.
	Lambda, Width float64
	// Alpha are the coefficients of the rows, and Intercept is b.
	Alpha     []float64
	Intercept float64
	// Error is the leave-one-out mean squared error, with b and the scaling of all
	// rows.
	Error float64

	program *kernel.Program
	points  *kernel.Points
	scale   scaling
}

// Predict returns means, b + Σ α_i k(x_i, x).
func (m *KernelModel) Predict(x mat.Matrix) (Prediction, error) {
	if err := checkWidth(x, m.program.D); err != nil {
		return Prediction{}, err
	}
	rows := points(m.scale.apply(x))
	ev := kernel.NewEvaluator(m.program)
	ev.Bind(m.Theta)
	out, row := make([]float64, rows.N), make([]float64, m.points.N)
	for i := range out {
		ev.Row(row, rows, i, m.points, 0, m.points.N)
		out[i] = m.Intercept + dot(row, m.Alpha)
	}
	return Prediction{Mean: out}, nil
}

func points(x *mat.Dense) *kernel.Points {
	n, d := x.Dims()
	return kernel.NewPoints(x.RawMatrix().Data, n, d)
}

// startTheta returns the parameters of the text and defaults for others, and which
// elements are lengthscales that the text does not give.
func startTheta(prog *kernel.Program, x *kernel.Points) (theta []float64, lengthscales []int) {
	theta = slices.Repeat([]float64{1}, prog.NumParams)
	for _, q := range prog.Params {
		for i := range q.Size {
			switch at := q.Offset + i; {
			case q.Start != nil:
				theta[at] = q.Start[i]
			case q.Kind == kernel.Lengthscale:
				theta[at] = medianDistance(x, q.Dims)
				lengthscales = append(lengthscales, at)
			}
		}
	}
	return theta, lengthscales
}

// medianDistance returns the median distance of pairs of rows over columns, from pairs
// that do not depend on anything but the number of rows; 1 if all rows are equal.
func medianDistance(x *kernel.Points, dims []int) float64 {
	const pairs = 4000
	rng := rand.New(rand.NewPCG(1, 1))
	var distances []float64
	for range pairs {
		i, j := rng.IntN(x.N), rng.IntN(x.N)
		sum := 0.0
		for _, c := range dims {
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
