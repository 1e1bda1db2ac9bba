package descent

import (
	"context"
	"math"
	"slices"
)

// HessianOptions tell how to difference a gradient. The zero value suits a
// [Start.Metric].
type HessianOptions struct {
	// Step returns that of parameter i; nil means 0.01 for all.
	Step func(i int) float64
	// Fixed parameters have rows and columns of zeros; nil for none.
	Fixed []bool
	// Asymmetry, unless nil, is set to the largest difference of an element from
	// its mirror image before both were averaged, which shows the accuracy.
	Asymmetry *float64
}

// Hessian approximates ∂²f/∂z² at z by central differences of the gradient,
//
//	(∂f/∂z(z + h·eᵢ) − ∂f/∂z(z − h·eᵢ)) / 2h,
//
// made symmetric. It costs two values with gradients for every free parameter. It
// is nil if f is not defined around z; then ev's Reason says why.
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
