package baseline

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"gpfit/internal/spd"
	"gpfit/kernel"
)

// KernelRidge is kernel ridge regression: the function f = b + Σ α_i k(x_i, ·) that
// minimises
//
//	Σ (y_i − f(x_i))² + λ‖f − b‖²
//
// in the space of the kernel, with α = (K + λI)⁻¹(y − b) (ESL, eq. 5.53; RW, section
// 6.2.2). It is the mean of a Gaussian process with noise variance λ. b is the mean of the
// targets. Columns are scaled as [Design] says. The cost is O(n³) flops and n² numbers of
// memory for every penalty and width that is tried, about 50 unless they are given.
// Leave-one-out chooses (RW, eq. 5.12).
type KernelRidge struct {
	// Design says whether b is the mean of the targets or 0 (NoIntercept, which does
	// not keep the columns from being centred) and whether columns are scaled.
	Design
	// Kernel is the text of the kernel, such as "matern52(ard)"; "" is rbf.
	Kernel string
	// Theta are all parameters of the kernel in the order of [kernel.Program]. Nil
	// takes those in the text; others are 1, and lengthscales a width times the median
	// distance of rows.
	Theta []float64
	// Lambdas and Widths are the values to choose from; one is used as it is. Nil
	// searches for the best one. Widths matter only if the kernel has lengthscales
	// that neither Theta nor the text gives.
	Lambdas, Widths []float64
}

// Fit fits a [*KernelModel].
func (m KernelRidge) Fit(x mat.Matrix, y []float64) (Model, error) {
	if err := errors.Join(checkChoices("Lambdas", m.Lambdas, true), checkChoices("Widths", m.Widths, false)); err != nil {
		return nil, err
	}
	if err := checkTable(x, y); err != nil {
		return nil, err
	}
	problem, err := m.problem(x, y)
	if err != nil {
		return nil, err
	}
	if err := m.search(problem); err != nil {
		return nil, err
	}
	return problem.model(), nil
}

// problem prepares the rows, the targets and the kernel.
func (m KernelRidge) problem(x mat.Matrix, y []float64) (*kernelProblem, error) {
	engine, err := spd.Open(0)
	if err != nil {
		return nil, err
	}
	expr, err := kernel.Parse(cmp.Or(m.Kernel, "rbf"))
	if err != nil {
		return nil, err
	}
	_, d := x.Dims()
	prog, err := kernel.Compile(expr, kernel.Columns(d))
	if err != nil {
		return nil, err
	}
	p := &kernelProblem{matrix: engine.New(len(y)), program: prog, y: append([]float64(nil), y...), value: math.Inf(1)}
	p.scale = newScaling(x, Design{Unscaled: m.Unscaled})
	if m.Unscaled { // neither shifted
		p.scale = identity(x)
	}
	p.points = points(p.scale.apply(x))
	if !m.NoIntercept {
		p.level = mean(y)
		for i := range p.y {
			p.y[i] -= p.level
		}
	}
	if p.size = squares(p.y) / float64(len(y)); p.size == 0 {
		p.size = 1
	}
	p.theta, p.lengthscales = startTheta(prog, p.points)
	if m.Theta != nil {
		if err := prog.CheckTheta(m.Theta); err != nil {
			return nil, err
		}
		p.theta, p.lengthscales = append([]float64(nil), m.Theta...), nil
	}
	return p, nil
}

// identity is the scaling that leaves columns as they are.
func identity(x mat.Matrix) scaling {
	_, d := x.Dims()
	return scaling{make([]float64, d), slices.Repeat([]float64{1}, d), make([]bool, d)}
}

// search tries penalties and widths and keeps the best.
func (m KernelRidge) search(p *kernelProblem) error {
	unit := p.meanVariance()
	if !(unit > 0) || !finite(unit) {
		return fmt.Errorf("baseline: the kernel %s is %v on average at distance 0 on these rows; it needs positive finite variances", p.program.Text, unit)
	}
	var axes []axis
	lambdas, widths := m.Lambdas, m.Widths
	if lambdas == nil {
		lambdas = scaled(unit, coarsePenalties)
		axes = append(axes, axis{smallestPenalty * unit, unit / smallestPenalty, func(c *candidate) *float64 { return &c.lambda }})
	}
	if widths == nil {
		widths = coarseWidths
		axes = append(axes, axis{1 / widest, widest, func(c *candidate) *float64 { return &c.width }})
	}
	if p.lengthscales == nil {
		widths = []float64{1}
		axes = slices.DeleteFunc(axes, func(a axis) bool { return a.low == 1/widest })
	}
	for _, width := range widths {
		for _, lambda := range lambdas {
			if _, err := p.try(candidate{lambda, width}); err != nil {
				return err
			}
		}
	}
	return p.refine(axes)
}
