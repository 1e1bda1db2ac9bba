package fit

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
)

// quantile975 is the 97.5 % point of the standard normal distribution.
const quantile975 = 1.959963984540054

// newStdErrors computes the Hessian at the optimum from two gradients for every parameter that is
// free and not at a bound.
func newStdErrors(ctx context.Context, j *tuning.Job, ev *descent.Oracle, r *hyperopt.Result) (*summary.StdErrors, error) {
	e := &summary.StdErrors{}
	var index []int
	out := make([]bool, len(j.Params.Free))
	for i, p := range j.Params.Free {
		atBound := slices.ContainsFunc(r.AtBound, func(b descent.Bound) bool { return b.Index == i })
		if out[i] = p.Fixed || atBound; out[i] {
			e.LeftOut = append(e.LeftOut, p.Name)
			continue
		}
		index = append(index, i)
		e.Names = append(e.Names, p.Name)
	}
	if len(index) == 0 {
		e.Failure = "every parameter is fixed or at a bound"
		return e, nil
	}
	h, err := descent.Hessian(ctx, ev, r.X, descent.HessianOptions{Step: hessianStep(j.Prepared, r.X), Fixed: out, Asymmetry: &e.Asymmetry})
	switch {
	case err != nil:
		return nil, fmt.Errorf("standard errors: %w", err)
	case h == nil:
		e.Failure = fmt.Sprintf("next to the optimum, %v", ev.Reason())
		return e, nil
	}
	p := len(out)
	for _, i := range index {
		row := make([]float64, 0, len(index))
		for _, k := range index {
			row = append(row, h[i*p+k])
		}
		e.Hessian = append(e.Hessian, row)
	}
	if covariance := invert(e, r.GradientNorm); covariance != nil {
		fillStdErrors(j.Prepared, e, r.X, index, covariance)
	}
	return e, nil
}

// hessianStep returns the steps of the central differences in z. A step of 1e-3 has a relative
// truncation error of h²/6 · g‴/g′, about 1e-7, and gradients, accurate to 1e-10 of their terms at
// moderate condition, divided by it 1e-6. In a coefficient of the mean the gradient is linear,
// so that its step may grow with it.
func hessianStep(j *problem.Prepared, z []float64) func(i int) float64 {
	return func(i int) float64 {
		if j.Params.Free[i].Log {
			return 1e-3
		}
		return 1e-3 * max(1, math.Abs(z[i]))
	}
}

// scaledEigenvalue, times the number of parameters, is the lower bound of the
// smallest eigenvalue of the Hessian scaled to a unit diagonal. The truncation of the
// differences leaves no more digits.
const scaledEigenvalue = 1e-6

// invert returns the inverse of the Hessian, or nil with a Failure if it is not positive definite
// beyond its errors. By Weyl's inequality, eigenvalues are no more accurate than the norm of the
// error, of which the asymmetry is a sample. A gradient that is not quite zero adds as much
// curvature, which depends on the parametrization.
func invert(e *summary.StdErrors, gradient float64) *mat.SymDense {
	p := len(e.Hessian)
	h, scaled := mat.NewSymDense(p, nil), mat.NewSymDense(p, nil)
	for i, row := range e.Hessian {
		for j := range i + 1 {
			h.SetSym(i, j, row[j])
			scaled.SetSym(i, j, row[j]/math.Sqrt(math.Abs(row[i]*e.Hessian[j][j])))
		}
	}
	if math.IsNaN(gradient) {
		gradient = 0
	}
	accuracy := float64(p) * (e.Asymmetry + gradient)
	smallest, worst, ok := smallestEigenvalue(h)
	if !ok {
		e.Failure = "the Hessian is not finite"
		return nil
	}
	e.Eigenvalue = smallest
	if smallest > accuracy {
		accuracy = float64(p) * scaledEigenvalue
		smallest, worst, _ = smallestEigenvalue(scaled)
	}
	if !(smallest > accuracy) {
		e.Failure = fmt.Sprintf("the Hessian is not positive definite (smallest eigenvalue %.3g, accuracy %.1g): the data do not determine a minimum, mostly along %s; fix or bound it, or give it a prior", smallest, accuracy, e.Names[worst])
		return nil
	}
	var chol mat.Cholesky
	var inverse mat.SymDense
	if !chol.Factorize(h) {
		e.Failure = "the Hessian is not positive definite"
	} else if err := chol.InverseTo(&inverse); err != nil {
		e.Failure = fmt.Sprintf("the Hessian cannot be inverted: %v", err)
	} else {
		return &inverse
	}
	return nil
}

// smallestEigenvalue returns the smallest eigenvalue of h and the index of the
// largest component of its eigenvector.
func smallestEigenvalue(h *mat.SymDense) (value float64, worst int, ok bool) {
	var eigen mat.EigenSym
	if slices.ContainsFunc(h.RawSymmetric().Data, problem.NotFinite) || !eigen.Factorize(h, true) {
		return 0, 0, false
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	for i := range h.SymmetricDim() {
		if math.Abs(vectors.At(i, 0)) > math.Abs(vectors.At(worst, 0)) {
			worst = i
		}
	}
	return eigen.Values(nil)[0], worst, true
}

// fillStdErrors converts the covariance of z to natural and original units.
func fillStdErrors(j *problem.Prepared, e *summary.StdErrors, z []float64, index []int, covariance *mat.SymDense) {
	e.Log, e.Scaled, e.Original = map[string]float64{}, map[string]float64{}, map[string]float64{}
	e.Interval95 = map[string][2]float64{}
	values := j.Params.Values(z)
	original := inOriginalUnits(j, values)
	// slopes holds ∂original/∂z by parameter. The original units are affine in the
	// natural values, so that a unit step gives the derivative.
	slopes := map[string][]float64{}
	for k, el := range j.Params.All {
		a := slices.Index(index, el.Index)
		if a < 0 {
			continue
		}
		p, se := j.Params.Free[el.Index], math.Sqrt(covariance.At(a, a))
		slope := 1.0
		if p.Log {
			slope = values[k]
			e.Log[el.Name] = se
		}
		e.Scaled[el.Name] = math.Abs(slope) * se
		lo, hi := z[el.Index]-quantile975*se, z[el.Index]+quantile975*se
		e.Interval95[el.Name] = [2]float64{p.Natural(lo), p.Natural(hi)}
		moved := slices.Clone(values)
		moved[k]++
		for name, v := range inOriginalUnits(j, moved) {
			if d := v - original[name]; d != 0 {
				if slopes[name] == nil {
					slopes[name] = make([]float64, len(index))
				}
				slopes[name][a] += d * slope
			}
		}
	}
	for name, s := range slopes {
		v := mat.NewVecDense(len(s), s)
		e.Original[name] = math.Sqrt(mat.Inner(v, covariance, v))
	}
}

// inOriginalUnits converts the natural values of all parameters, up to an additive
// constant. With several targets it returns only the values that all targets share.
func inOriginalUnits(j *problem.Prepared, values []float64) map[string]float64 {
	out := j.OriginalUnits(0, values).Values
	if q, m := len(j.Model.Basis), j.Model; m.MeanFree {
		// β_original = Tβ, in units of the target; the mean's shift is constant.
		scaling := j.Sample.Scalings[0]
		toOriginal := m.Basis.Original(scaling.XMean, scaling.XScale)
		beta := values[len(values)-q:]
		for k, f := range m.Basis {
			out[j.Sample.Display(f.Name())] = scaling.YScale * floats.Dot(toOriginal[k*q:(k+1)*q], beta)
		}
	}
	for i := range j.Sample.T() {
		for name, v := range j.OriginalUnits(i, values).Values {
			if out[name] != v {
				delete(out, name)
			}
		}
	}
	return out
}

// noStdErrors begins the warning that there are none.
const noStdErrors = "no standard errors: "

// addStdErrors adds the standard errors to the report, with a warning if they mean
// less than they seem to.
func addStdErrors(r *summary.Report, e *summary.StdErrors, status descent.Status) {
	r.StdErrors = e
	switch {
	case e == nil:
	case e.Failure != "":
		r.Warnings = append(r.Warnings, noStdErrors+e.Failure)
	case !status.Converged():
		r.Warnings = append(r.Warnings, "the standard errors refer to the point reached, which is not an optimum: the optimizer ended "+status.String())
	}
}
