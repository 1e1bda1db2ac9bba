package descent

import (
	"context"
	"math"
	"slices"
)

// hessianStep is the step of [Hessian], in log units, for a metric: a secant over
// one percent, which rounding in the gradient (1e-9 of f at large n) does not
// affect. Truncation errors are of the order of 1e-4.
const hessianStep = 1e-2

// HessianOptions configures [Hessian]. The zero value suits a [Start.Metric].
type HessianOptions struct {
	// Step returns the step of parameter i; nil means 0.01 for all.
	Step func(i int) float64
	// Fixed marks parameters whose rows and columns are zero; nil means none.
	Fixed []bool
	// Asymmetry, unless nil, receives the largest difference between an element and
	// its mirror image before averaging, a measure of the accuracy.
	Asymmetry *float64
}

// Hessian approximates ∂²f/∂z² at z by central differences of the gradient,
//
//	(∂f/∂z(z + h·eᵢ) − ∂f/∂z(z − h·eᵢ)) / 2h,
//
// and symmetrizes the result. It costs two values with gradients for every free parameter. The
// result is nil if f is not defined around z; ev.Reason then returns the cause.
func Hessian(ctx context.Context, ev *Oracle, z []float64, o HessianOptions) (Metric, error) {
	p := len(z)
	rows := make([]float64, p*p)
	at, up, down := slices.Clone(z), make([]float64, p), make([]float64, p)
	fixed := func(i int) bool { return o.Fixed != nil && o.Fixed[i] }
	for i := range z {
		if fixed(i) {
			continue
		}
		step := hessianStep
		if o.Step != nil {
			step = o.Step(i)
		}
		for _, side := range []struct {
			z    float64
			grad []float64
		}{{z[i] + step, up}, {z[i] - step, down}} {
			at[i] = side.z
			f, err := ev.Value(ctx, at)
			ok := err == nil && !math.IsInf(f, 1)
			if ok {
				ok, err = ev.Gradient(ctx, at, side.grad)
			}
			if err != nil || !ok {
				return nil, err
			}
		}
		at[i] = z[i]
		for j := range z {
			if !fixed(j) {
				rows[i*p+j] = (up[j] - down[j]) / (2 * step)
			}
		}
	}
	return symmetric(rows, p, o.Asymmetry), nil
}

// symmetric averages a p×p matrix with its transpose.
func symmetric(rows []float64, p int, asymmetry *float64) Metric {
	h := make(Metric, p*p)
	for i := range p {
		for j := range p {
			a, b := rows[i*p+j], rows[j*p+i]
			if h[i*p+j] = a/2 + b/2; asymmetry != nil {
				*asymmetry = max(*asymmetry, math.Abs(a-b))
			}
		}
	}
	return h
}
