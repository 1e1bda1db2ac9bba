package hyperopt

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// hessianStep is the step, in log units, of the differences of Hessian: the
// secant over a percent, which rounding in the gradient (1e-9 of f at large n)
// does not reach.
const hessianStep = 1e-2

// Hessian approximates ∂²f/∂z² at z by central differences of the gradient
//
//	(∂f/∂z(z + h·eᵢ) − ∂f/∂z(z − h·eᵢ)) / 2h,  h = 0.01,
//
// made symmetric, as a p×p matrix in row-major order; rows and columns of fixed
// parameters are zero (fixed may be nil). It costs two values with gradients for
// every free parameter. Truncation leaves errors of the order of 1e-4: good for
// [Problem.Metric], too coarse for standard errors.
func Hessian(ctx context.Context, obj Objective, z []float64, fixed []bool) ([]float64, error) {
	h, err := hessianOf(z, fixed, func(z, g []float64) error {
		if _, err := obj.Value(ctx, z); err != nil {
			return err
		}
		_, err := obj.ValueGradient(ctx, z, g)
		return err
	})
	if err == nil && h == nil {
		err = fmt.Errorf("hyperopt: the gradient is not finite near the point of the Hessian")
	}
	return h, err
}

// hessianOf is Hessian with gradients from at; nil if one is not finite.
func hessianOf(z []float64, fixed []bool, at func(z, g []float64) error) ([]float64, error) {
	p := len(z)
	h := make([]float64, p*p)
	x := slices.Clone(z)
	up, down := make([]float64, p), make([]float64, p)
	for i := range z {
		if fixed != nil && fixed[i] {
			continue
		}
		x[i] = z[i] + hessianStep
		if err := at(x, up); err != nil {
			return nil, err
		}
		x[i] = z[i] - hessianStep
		if err := at(x, down); err != nil {
			return nil, err
		}
		x[i] = z[i]
		for j := range z {
			if fixed != nil && fixed[j] {
				continue
			}
			d := (up[j] - down[j]) / (2 * hessianStep)
			if math.IsNaN(d) || math.IsInf(d, 0) {
				return nil, nil
			}
			h[i*p+j] += d / 2
			h[j*p+i] += d / 2
		}
	}
	return h, nil
}

// metricFloor is the least curvature that a metric is trusted with, in units of
// f per squared log unit: along an eigenvector of less the first step is as if
// it were this. It bounds steps where f is flat, g/2 log units for a slope g, and
// where the Hessian is not positive definite. On elevators (18 columns) 2 works
// and 10 stays far from the optimum for long.
const metricFloor = 2

// curvatures is the running approximation B of the Hessian ∂²f/∂z² over all p
// parameters, kept positive definite.
type curvatures struct {
	p int
	b []float64 // p×p; nil before the first pair
}

// floored returns the metric m with eigenvalues below metricFloor raised to it.
func floored(m []float64, p int) (curvatures, error) {
	var e mat.EigenSym
	if !e.Factorize(mat.NewSymDense(p, slices.Clone(m)), true) {
		return curvatures{}, fmt.Errorf("hyperopt: the eigenvalues of Problem.Metric cannot be computed")
	}
	values := e.Values(nil)
	var v mat.Dense
	e.VectorsTo(&v)
	b := make([]float64, p*p)
	for k, lambda := range values {
		lambda = math.Max(lambda, metricFloor)
		for i := range p {
			for j := range p {
				b[i*p+j] += lambda * v.At(i, k) * v.At(j, k)
			}
		}
	}
	return curvatures{p, b}, nil
}

// learn updates B by the step s and the change y of the gradient: the damped
// formula of BFGS (N&W procedure 18.2), which keeps B positive definite whatever
// the sign of sᵀy.
func (c *curvatures) learn(s, y []float64) {
	p := c.p
	sy := dot(s, y)
	if c.b == nil {
		if !(sy > minCosine*math.Sqrt(dot(s, s)*dot(y, y))) {
			return
		}
		c.b = make([]float64, p*p)
		for i := range p {
			c.b[i*p+i] = dot(y, y) / sy // N&W 6.20, of B
		}
	}
	bs := make([]float64, p)
	for i := range p {
		bs[i] = dot(c.b[i*p:(i+1)*p], s)
	}
	sbs := dot(s, bs)
	if !(sbs > 0) || math.IsInf(sbs, 0) {
		return
	}
	r := slices.Clone(y)
	if sy < 0.2*sbs {
		theta := 0.8 * sbs / (sbs - sy)
		for i := range r {
			r[i] = theta*y[i] + (1-theta)*bs[i]
		}
		sy = dot(s, r)
	}
	for i := range p {
		for j := range p {
			c.b[i*p+j] += r[i]*r[j]/sy - bs[i]*bs[j]/sbs
		}
	}
}

// newton writes −B⁻¹g over the variables of v to dir, where loc is, and reports
// whether it could. A clamp's slope scales its variable; where it bends, what it
// takes away of the curvature is put back, since a variable in the tail would
// seem flat and run away.
func (c *curvatures) newton(v *view, x, g, dir []float64) bool {
	if c.b == nil {
		return false
	}
	k := len(v.index)
	slope := make([]float64, k)
	for a := range slope {
		slope[a] = 1
		if !v.direct[a] {
			slope[a] = v.clamps[a].slope(x[a])
		}
	}
	b := mat.NewSymDense(k, nil)
	for a, i := range v.index {
		for e := a; e < k; e++ {
			b.SetSym(a, e, slope[a]*slope[e]*c.b[i*c.p+v.index[e]])
		}
		b.SetSym(a, a, c.b[i*c.p+i])
	}
	var chol mat.Cholesky
	if !chol.Factorize(b) {
		return false
	}
	out := mat.NewVecDense(k, dir)
	if err := chol.SolveVecTo(out, mat.NewVecDense(k, g)); err != nil {
		return false // nearly singular
	}
	out.ScaleVec(-1, out)
	return true
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}
