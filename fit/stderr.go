package fit

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"gpfit/device"
	"gpfit/hyperopt"
)

// StdErrors are asymptotic standard errors of the free parameters: the inverse
// of the Hessian of the objective at its optimum is the covariance of the
// log-parameters z (of the coefficients of the mean, as they are). With priors
// this is the Laplace approximation of the posterior.
//
// They say how well the data determine a parameter where the objective is a
// parabola in z over about two standard errors; in small samples, and for a
// parameter near the edge of what the data tell, it is not.
type StdErrors struct {
	// Names are the parameters over which the Hessian was formed, in the order
	// of its rows; LeftOut those that are fixed or at a bound.
	Names   []string `json:"names"`
	LeftOut []string `json:"left_out,omitempty"`
	// Hessian is ∂²objective/∂z∂z, symmetric. Asymmetry is the largest
	// difference between its elements and their mirror images before they were
	// averaged, which shows the accuracy of the differences.
	Hessian   [][]float64 `json:"hessian"`
	Asymmetry float64     `json:"asymmetry"`
	// Eigenvalue is the Hessian's smallest. Failure says why there are no
	// standard errors, empty if there are.
	Eigenvalue float64 `json:"smallest_eigenvalue"`
	Failure    string  `json:"failure,omitempty"`
	// Log holds the standard errors of z. Scaled holds those in natural units,
	// by the delta method: θ·se(log θ). Original holds those in original units;
	// tied parameters are among both.
	Log      map[string]float64 `json:"log,omitempty"`
	Scaled   map[string]float64 `json:"parameters,omitempty"`
	Original map[string]float64 `json:"parameters_original_units,omitempty"`
	// Interval95 holds z ± 1.96 se(z) in natural units of the scaled problem.
	Interval95 map[string][2]float64 `json:"interval95,omitempty"`
}

// hessianStep is the step of the central differences in z. The relative
// truncation error is h²/6 · g‴/g′, about 1e-7; gradients are accurate to 1e-10
// of their terms at moderate condition, which the step divides to 1e-6.
const hessianStep = 1e-3

// quantile975 is the 97.5 % point of the standard normal distribution.
const quantile975 = 1.959963984540054

// stdErrors forms the Hessian at the optimum: two gradients for every parameter
// that is free and not at a bound.
func (t *Task) stdErrors(ctx context.Context, o hyperopt.Objective, r *hyperopt.Result) (*StdErrors, error) {
	e := &StdErrors{}
	var index []int
	for i, p := range t.params {
		atBound := slices.ContainsFunc(r.AtBound, func(b hyperopt.Bound) bool { return b.Index == i })
		if p.fixed || atBound {
			e.LeftOut = append(e.LeftOut, p.name)
			continue
		}
		index = append(index, i)
		e.Names = append(e.Names, p.name)
	}
	if len(index) == 0 {
		e.Failure = "every parameter is fixed or at a bound"
		return e, nil
	}
	h, err := t.hessian(ctx, o, r.X, index)
	switch {
	case device.IsNotPD(err):
		e.Failure = fmt.Sprintf("next to the optimum, %v", err)
		return e, nil
	case err != nil:
		return nil, fmt.Errorf("standard errors: %w", err)
	}
	p := len(index)
	for i := range p {
		for j := range i {
			e.Asymmetry = max(e.Asymmetry, math.Abs(h[i][j]-h[j][i]))
			mid := h[i][j]/2 + h[j][i]/2
			h[i][j], h[j][i] = mid, mid
		}
	}
	e.Hessian = h
	covariance := e.invert(r.GradientNorm)
	if covariance != nil {
		t.fillStdErrors(e, r.X, index, covariance)
	}
	return e, nil
}

// hessian returns the central differences of the gradient by the parameters in
// index, a row for each. By a coefficient of the mean the gradient is linear, so
// that its step may grow with it.
func (t *Task) hessian(ctx context.Context, o hyperopt.Objective, z []float64, index []int) ([][]float64, error) {
	up, down := make([]float64, len(z)), make([]float64, len(z))
	rows := make([][]float64, len(index))
	for a, i := range index {
		step := hessianStep
		if !t.params[i].isLog {
			step *= max(1, math.Abs(z[i]))
		}
		at := slices.Clone(z)
		at[i] = z[i] + step
		_, err := o.ValueGradient(ctx, at, up)
		if err == nil {
			at[i] = z[i] - step
			_, err = o.ValueGradient(ctx, at, down)
		}
		if err != nil {
			return nil, err
		}
		rows[a] = make([]float64, len(index))
		for b, j := range index {
			rows[a][b] = (up[j] - down[j]) / (2 * step)
		}
	}
	return rows, nil
}

// scaledEigenvalue bounds the smallest eigenvalue of the Hessian scaled to a unit
// diagonal, for each parameter: what the truncation of the differences leaves of
// its digits.
const scaledEigenvalue = 1e-6

// invert returns the inverse of the Hessian, or nil and a reason in Failure if
// it is not positive definite beyond its errors: by Weyl's inequality
// eigenvalues are no more accurate than the norm of the error, of which the
// asymmetry is a sample. A gradient that is not quite zero stands for as much
// curvature, which depends on the parametrisation.
func (e *StdErrors) invert(gradient float64) *mat.SymDense {
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
		e.Failure = fmt.Sprintf("the Hessian is not positive definite (smallest eigenvalue %.3g, accuracy %.1g): this is no minimum that the data determine, mostly along %s; fix or bound it, or give it a prior", smallest, accuracy, e.Names[worst])
		return nil
	}
	var chol mat.Cholesky
	var inverse mat.SymDense
	if !chol.Factorize(h) {
		e.Failure = "the Hessian is not positive definite"
		return nil
	}
	if err := chol.InverseTo(&inverse); err != nil {
		e.Failure = fmt.Sprintf("the Hessian cannot be inverted: %v", err)
		return nil
	}
	return &inverse
}

// smallestEigenvalue returns it with the largest component of its vector.
func smallestEigenvalue(h *mat.SymDense) (value float64, worst int, ok bool) {
	p := h.SymmetricDim()
	for i := range p {
		for j := range i + 1 {
			if v := h.At(i, j); v-v != 0 {
				return 0, 0, false
			}
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(h, true) {
		return 0, 0, false
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	for i := range p {
		if math.Abs(vectors.At(i, 0)) > math.Abs(vectors.At(worst, 0)) {
			worst = i
		}
	}
	return eigen.Values(nil)[0], worst, true
}

// fillStdErrors takes the covariance of z to natural and original units.
func (t *Task) fillStdErrors(e *StdErrors, z []float64, index []int, covariance *mat.SymDense) {
	e.Log, e.Scaled, e.Original = map[string]float64{}, map[string]float64{}, map[string]float64{}
	e.Interval95 = map[string][2]float64{}
	values := t.values(z)
	original := t.inOriginalUnits(values)
	// slopes holds ∂original/∂z by parameter; the original units are affine in
	// the natural values, so that a unit step gives the derivative.
	slopes := map[string][]float64{}
	for k, el := range t.elements {
		a := slices.Index(index, el.index)
		if a < 0 {
			continue
		}
		p, se := t.params[el.index], math.Sqrt(covariance.At(a, a))
		slope := 1.0
		if p.isLog {
			slope = values[k]
			e.Log[el.name] = se
		}
		e.Scaled[el.name] = math.Abs(slope) * se
		lo, hi := z[el.index]-quantile975*se, z[el.index]+quantile975*se
		e.Interval95[el.name] = [2]float64{p.natural(lo), p.natural(hi)}
		moved := slices.Clone(values)
		moved[k]++
		for name, v := range t.inOriginalUnits(moved) {
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

// inOriginalUnits converts the natural values of all parameters, but for a
// constant; with several targets those that have the same value for all.
func (t *Task) inOriginalUnits(values []float64) map[string]float64 {
	r := Report{ParametersOriginalUnits: map[string]float64{}}
	t.originalUnits(&r, values)
	if q := len(t.basis); t.meanFree {
		// β_original = Tβ, in units of the target; the mean's shift is constant.
		toOriginal := t.basis.Original(t.scaling.XMean, t.scaling.XScale)
		beta := values[len(values)-q:]
		for j, f := range t.basis {
			r.ParametersOriginalUnits[f.Name()] = t.scaling.YScale * floats.Dot(toOriginal[j*q:(j+1)*q], beta)
		}
	}
	for i := range t.data.t() {
		other := Report{ParametersOriginalUnits: map[string]float64{}}
		t.ofTarget(i).originalUnits(&other, values)
		for name, v := range other.ParametersOriginalUnits {
			if r.ParametersOriginalUnits[name] != v {
				delete(r.ParametersOriginalUnits, name)
			}
		}
	}
	return r.ParametersOriginalUnits
}

// writeStdErrors prints standard errors and intervals, or why there are none.
func (r *Report) writeStdErrors(b *strings.Builder) {
	e := r.StdErrors
	if e == nil {
		return
	}
	if e.Failure != "" {
		fmt.Fprintf(b, "\nno standard errors: %s\n", e.Failure)
		return
	}
	width := 20
	for _, name := range r.Names {
		width = max(width, len(name))
	}
	fmt.Fprintf(b, "\n%-*s  %14s  %14s  %31s\n", width, "standard errors", "of the log", "scaled", "95 % interval, scaled")
	for _, name := range r.Names {
		se, ok := e.Scaled[name]
		if !ok {
			fmt.Fprintf(b, "%-*s  %14s\n", width, name, "left out")
			continue
		}
		log := ""
		if v, ok := e.Log[name]; ok {
			log = fmt.Sprintf("%.4g", v)
		}
		fmt.Fprintf(b, "%-*s  %14s  %14.4g  %14.6g … %14.6g\n", width, name, log, se, e.Interval95[name][0], e.Interval95[name][1])
	}
}

// addStdErrors adds them to the report, with a warning where they mean less
// than they seem to.
func (r *Report) addStdErrors(e *StdErrors, status hyperopt.Status) {
	r.StdErrors = e
	switch {
	case e == nil:
	case e.Failure != "":
		r.Warnings = append(r.Warnings, "no standard errors: "+e.Failure)
	case !status.Converged():
		r.Warnings = append(r.Warnings, "the standard errors are of the point reached, which is not an optimum: the optimiser ended "+status.String())
	}
}
