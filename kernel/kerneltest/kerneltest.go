// Package kerneltest tests covariance functions. Other modules call it as devicetest.RunKernel.
package kerneltest

import (
	"math"
	"math/rand/v2"
	"testing"

	"gpfit/kernel"
)

// Numbers of points and of parameter vectors.
const (
	eigenPoints = 60
	pairPoints  = 8
	draws       = 4
)

// tolerance is the tolerance of a derivative, relative to the size of the values and of the
// derivative.
const tolerance = 1e-7

// Run tests k in an expression that names it, and with ard. It checks that the parameters compile,
// that covariances on random points are symmetric up to rounding and positive semidefinite
// ([kernel.CheckKernelhood]), and that the derivatives by the logs of the parameters and by the
// inputs agree with central differences. The numbers of columns are 1, 2 and 3 unless given.
func Run(t *testing.T, k *kernel.Family, columns ...int) {
	t.Helper()
	for _, text := range []string{k.Name, k.Name + "(ard)"} {
		Expression(t, text, []*kernel.Family{k}, columns...)
	}
}

// Expression tests a kernel given in text form, which may name custom families; see [Run].
func Expression(t *testing.T, text string, families []*kernel.Family, columns ...int) {
	t.Helper()
	if columns == nil {
		columns = []int{1, 2, 3}
	}
	expr, err := kernel.Parser{Families: families}.Parse(text)
	if err != nil {
		t.Error(err)
		return
	}
	for _, d := range columns {
		prog, err := kernel.Compile(expr, kernel.Columns(d))
		if err != nil {
			t.Errorf("%d columns: %v", d, err)
			return
		}
		program(t, prog)
	}
}

func normal(rng *rand.Rand, n, d int) *kernel.Points {
	rows := make([]float64, n*d)
	for i := range rows {
		rows[i] = rng.NormFloat64()
	}
	return kernel.NewPoints(rows, n, d)
}

func program(t *testing.T, prog *kernel.Program) {
	t.Helper()
	rng := rand.New(rand.NewPCG(0, uint64(prog.D)))
	for range draws {
		theta := make([]float64, prog.NumParams)
		for i := range theta {
			theta[i] = math.Exp(0.5 * rng.NormFloat64())
		}
		h, err := kernel.CheckKernelhood(prog, theta, normal(rng, eigenPoints, prog.D))
		if err != nil {
			t.Errorf("%s: %v", prog.Text, err)
			return
		}
		if !h.OK() {
			t.Errorf("%s on %d columns at %v: %s", prog.Text, prog.D, theta, h)
		}
		c := check{t: t, prog: prog, e: kernel.NewEvaluator(prog), theta: theta,
			x: normal(rng, 1, prog.D), y: normal(rng, pairPoints, prog.D)}
		for range pairPoints {
			c.adj = append(c.adj, rng.NormFloat64())
		}
		c.parameters()
		c.inputs()
	}
}

// check compares derivatives of f = Σ_j adj_j k(x, y_j).
type check struct {
	t     *testing.T
	prog  *kernel.Program
	e     *kernel.Evaluator
	theta []float64
	x, y  *kernel.Points
	adj   []float64
}

// value returns f and Σ_j |adj_j k(x, y_j)|.
func (c check) value(theta []float64, x *kernel.Points) (f, size float64) {
	row := make([]float64, c.y.N)
	c.e.Bind(theta)
	c.e.Row(row, x, 0, c.y, 0, c.y.N)
	for j, v := range row {
		f += c.adj[j] * v
		size += math.Abs(c.adj[j] * v)
	}
	return f, size
}

// difference returns the fourth-order central difference. With its step, the cancellation error is
// near 1e-12 of the values, and the truncation error is as small as long as the fifth derivative is
// below some ten thousand times their size.
func difference(f func(h float64) float64) float64 {
	const h = 1e-4
	return (8*(f(h)-f(-h)) - (f(2*h) - f(-2*h))) / (12 * h)
}

func (c check) compare(what string, got, want float64) {
	c.t.Helper()
	_, size := c.value(c.theta, c.x)
	if !(math.Abs(got-want) <= tolerance*(size+math.Abs(want))) {
		c.t.Errorf("%s on %d columns at %v: %s = %v, central difference %v", c.prog.Text, c.prog.D, c.theta, what, got, want)
	}
}

func (c check) parameters() {
	c.t.Helper()
	grad := make([]float64, c.prog.NumParams)
	c.e.Bind(c.theta)
	c.e.RowGradient(grad, c.adj, c.x, 0, c.y, 0, c.y.N)
	for p, name := range c.prog.Names() {
		c.compare("∂/∂log "+name, grad[p], difference(func(h float64) float64 {
			moved := append([]float64(nil), c.theta...)
			moved[p] *= math.Exp(h)
			f, _ := c.value(moved, c.x)
			return f
		}))
	}
}

func (c check) inputs() {
	c.t.Helper()
	grad := make([]float64, c.prog.D)
	c.e.Bind(c.theta)
	c.e.RowInputGradient(grad, c.adj, c.x, 0, c.y, 0, c.y.N)
	for q := range grad {
		c.compare("∂/∂x", grad[q], difference(func(h float64) float64 {
			moved := &kernel.Points{N: 1, D: c.x.D, X: append([]float64(nil), c.x.X...)}
			moved.X[q] += h
			f, _ := c.value(c.theta, moved)
			return f
		}))
	}
}

// Program compiles the text of a kernel for points of d columns.
func Program(t testing.TB, text string, d int) *kernel.Program {
	t.Helper()
	prog, err := kernel.CompileText(text, d)
	if err != nil {
		t.Fatal(err)
	}
	return prog
}
