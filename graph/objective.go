package graph

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
)

// Objective is the negative log marginal likelihood, plus the negative log prior if
// there is one, as a function of a vector z of free log-parameters (and mean
// coefficients, which are not logarithms). It is not safe for concurrent use: each
// goroutine needs its own objective and workspace.
type Objective struct {
	graph    *gorgonia.ExprGraph
	solver   *solver
	vars     []*variable
	cost     *gorgonia.Node
	prior    *gorgonia.Node // negative log prior within cost, or nil
	volume   *gorgonia.Node // term of the transform within cost, or nil
	grads    gorgonia.Nodes
	value    *machine // cost alone, a part of the same graph
	gradient *machine // cost and gradient
	last     *machine // machine of the last successful evaluation
	labels   Labels
	// transform is the spec's.
	transform *TargetTransform
}

// Names returns the name of every element of z.
func (o *Objective) Names() []string {
	var names []string
	for _, v := range o.vars {
		names = append(names, v.elements...)
	}
	return names
}

// IsLog reports for every element of z whether it is the logarithm of a positive
// parameter; coefficients of the mean are not.
func (o *Objective) IsLog() []bool {
	var logs []bool
	for _, v := range o.vars {
		for range v.elements {
			logs = append(logs, v.isLog)
		}
	}
	return logs
}

// Value returns the objective at z. It costs n³/3 operations, or none if the workspace already
// holds the factor for z. errors.As finds the errors of [device.Workspace].
func (o *Objective) Value(ctx context.Context, z []float64) (float64, error) {
	if err := o.run(ctx, o.value, z); err != nil {
		return 0, err
	}
	return scalar(o.value.value(o.cost))
}

// ValueGradient returns the objective at z and writes its gradient by z to grad. It
// costs n³ operations, or 2n³/3 after Value at the same z.
func (o *Objective) ValueGradient(ctx context.Context, z, grad []float64) (float64, error) {
	if len(grad) != len(z) {
		return 0, fmt.Errorf("graph: gradient of %d elements for %d parameters", len(grad), len(z))
	}
	if err := o.run(ctx, o.gradient, z); err != nil {
		return 0, err
	}
	for i, v := range o.vars {
		value := o.gradient.value(o.grads[i])
		g, err := numbers(value)
		if err != nil || len(g) != len(v.elements) {
			return 0, fmt.Errorf("graph: gradient of %s: %v", v.name, value)
		}
		copy(grad[v.offset:], g)
	}
	return scalar(o.gradient.value(o.cost))
}

func (o *Objective) run(ctx context.Context, m *machine, z []float64) error {
	if want := len(o.IsLog()); len(z) != want {
		return fmt.Errorf("graph: %d numbers for %d parameters", len(z), want)
	}
	for _, v := range o.vars {
		v.set(z)
	}
	s := o.solver
	s.ctx = ctx
	defer func() { s.ctx = context.Background() }()
	if err := m.run(); err != nil {
		return err
	}
	o.last = m
	return nil
}

// Terms returns the parts of the last successful evaluation.
func (o *Objective) Terms() Terms {
	t := o.solver.terms
	t.Jacobian = o.jacobian()
	if l := o.solver.out.latest(); l != nil {
		t.LeaveOneOut = l.objective() + t.Jacobian
	}
	if o.last != nil && o.prior != nil {
		if f, err := scalar(o.last.value(o.prior)); err == nil {
			t.NegLogPrior = f
		}
	}
	return t
}

// Theta returns the kernel's parameters and the estimated noise variances (one per
// group, none without) in natural units, and α = Σ⁻¹r (n×T), of the last successful
// evaluation, including derived parameters. The slices are copies.
func (o *Objective) Theta() (theta, noise, alpha []float64) {
	s := o.solver
	return slices.Clone(s.theta), slices.Clone(s.estimated), slices.Clone(s.alpha)
}

// Noise returns the known and estimated noise on the diagonal in the last successful evaluation,
// without jitter: n variances, or one if it is the same for all points.
func (o *Objective) Noise() []float64 { return slices.Clone(o.solver.noise) }

// Mean returns the mean's coefficients β̂, q×T column-major, from generalized least squares in
// the last successful evaluation, and their covariance (HᵀΣ⁻¹H)⁻¹, q×q, the same for every
// target. Both are nil if the mean is zero or its coefficients are parameters.
func (o *Objective) Mean() (beta, covariance []float64) {
	s := o.solver
	if s.gls == nil {
		return nil, nil
	}
	return slices.Clone(s.beta), s.gls.Covariance()
}

// Kept holds what the last successful evaluation computed, without the matrix: O(n) numbers.
type Kept struct {
	z          []float64
	solution   solution
	left, held *predictions
}

// Keep returns a copy of what the last successful evaluation, at z, computed.
func (o *Objective) Keep(z []float64) *Kept {
	s := o.solver
	return &Kept{slices.Clone(z), s.solution.clone(), s.out.left, s.out.held}
}

// Recall makes the evaluation the last one of an objective of the same problem, in O(n) operations.
// [Objective.Restore] makes the workspace hold its Σ.
func (k *Kept) Recall(o *Objective) error {
	s := o.solver
	s.solution, s.formed, s.solved, s.contracted = k.solution.clone(), false, true, false
	s.out.left, s.out.held, s.frozen = k.left, k.held, true
	defer func() { s.frozen = false }()
	return o.run(context.Background(), o.value, k.z)
}

// Restore makes the workspace hold Σ of the last successful evaluation, for callers that use
// the workspace themselves. It costs nothing unless a contraction has used Σ up.
func (o *Objective) Restore(ctx context.Context) error {
	o.solver.ctx = ctx
	defer func() { o.solver.ctx = context.Background() }()
	return o.solver.restore()
}

// jacobian returns the term of the transform in the last successful evaluation, 0 without one.
func (o *Objective) jacobian() float64 {
	if o.volume == nil || o.last == nil {
		return 0
	}
	f, err := scalar(o.last.value(o.volume))
	if err != nil {
		return 0
	}
	return f
}

// ResidualLimit returns the largest value of [device.ResidualChecker] that rounding
// can explain after the last evaluation: 16 times the unit roundoff times the bound
// tr(Σ)/min σ² on the condition number, or +∞ without noise.
func (o *Objective) ResidualLimit() float64 {
	s := o.solver
	return 16 * unitRoundoff * s.identity.trace() / s.leastNoise()
}

// roundingFactor times the unit roundoff times the sums that [Objective.GradientRounding]
// describes is its estimate. In comparisons with arithmetic of 200 bits the errors are
// up to 16 such units, and the median is 1; see Test200Bits in benchmarks/reliability.
const roundingFactor = 8

// GradientRounding estimates the rounding error of every element of the gradient of the
// negative log marginal likelihood at the parameters of the last evaluation, in nats.
// It estimates 0 for coefficients of the mean.
//
// A derivative contains ½ αᵀ∂Kα, a sum of products that may cancel: α is large where K's rank is
// low, and nearly orthogonal to K's range. Rounding the elements of K alone changes the sum by
// about ε·½(Σ_ij α_i²K_ij²α_j²)^½ ≤ ε·½ Σ_i α_i²K_ii, because K_ij² ≤ K_ii K_jj, and the backward
// error of the factorization has a similar effect. So no formula that starts from rounded
// elements of K does better. For a kernel that is bilinear, the solver does not start from them,
// and ε·αᵀr remains. The other part of a derivative, ½ tr(Σ⁻¹∂K), has an error of ε times the
// condition number of Σ, which the estimate leaves out.
func (o *Objective) GradientRounding() []float64 {
	s := o.solver
	noise := roundingFactor * unitRoundoff / 2 * s.identity.quadraticSize()
	kernel := noise
	if s.prog.Bilinear() && !o.hasDerived() {
		kernel = roundingFactor * unitRoundoff * math.Abs(s.terms.DataFit)
	}
	var rounding []float64
	for _, v := range o.vars {
		for range v.elements {
			switch {
			case !v.isLog:
				rounding = append(rounding, 0)
			case v.name == NoiseVariance:
				rounding = append(rounding, noise)
			default:
				rounding = append(rounding, kernel)
			}
		}
	}
	return rounding
}

// hasDerived reports whether parameters are functions of others.
func (o *Objective) hasDerived() bool {
	free := 0
	for _, v := range o.vars {
		if v.isLog {
			free += len(v.elements)
		}
	}
	return free < len(o.solver.theta)+len(o.solver.estimated)
}
