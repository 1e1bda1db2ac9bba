package gp

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/internal/hostmem"
	"gpfit/kernel"
)

// JointOptions configures a joint distribution. The zero value selects the function
// itself, without noise.
type JointOptions struct {
	// Observed selects new observations: it adds the noise variance to the
	// diagonal. Noise is what is known about the noise of the rows.
	Observed bool
	Noise    RowNoise
}

// Joint is the multivariate normal distribution of the values at m rows, in
// original units.
type Joint struct {
	// Mean has m elements.
	Mean []float64
	// Cov is the m×m covariance, row-major, with both halves filled.
	Cov []float64
	// scale is the largest prior variance. Rounding errors in Cov are relative to
	// it, not to Cov, which can be far smaller.
	scale float64
	// order bounds the number of terms in the sum for an element of Cov.
	order int
}

// checkSize returns a [*SizeError] if rows×cols numbers do not fit in the host's
// memory.
func checkSize(what string, rows, cols int, free int64) error {
	need := 8 * float64(rows) * float64(cols)
	if free > 0 && need > float64(free) {
		return &SizeError{What: what, Need: int64(min(need, math.MaxInt64/2)), Free: free}
	}
	return nil
}

func checkJoint(m int, free int64) error {
	return checkSize(fmt.Sprintf("the covariance of %d rows", m), m, m, free)
}

// SizeError reports a result for which the host lacks memory. It is returned before
// any allocation.
type SizeError struct {
	// What names the result; Need and Free are the needed and the free bytes.
	What       string
	Need, Free int64
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("gp: %s needs %s of memory, but only %s are free: request fewer at once", e.What, device.FormatBytes(e.Need), device.FormatBytes(e.Free))
}

// Joint returns the posterior distribution at m rows of features (see
// [Posterior.Predict]), Rasmussen & Williams (2006), eq. 2.23 and 2.24:
//
//	mean        m(X*) + K*ᵀα
//	covariance  K** − K*ᵀΣ⁻¹K*, plus σ²I for new observations
//
// If least squares found the mean's coefficients, their uncertainty is added (eq.
// 2.42).
//
// The cost is n²m + nm² flops and m×m numbers of host memory, which are checked
// before. Errors are [*ShapeError], [*SizeError], [*device.MemoryError],
// [*device.UnsupportedError] and [*RangeError].
func (p *Posterior) Joint(ctx context.Context, rows []float64, m int, opts JointOptions) (*Joint, error) {
	mod := p.model
	joint, err := device.Capability[device.JointCovariance](p.ws, "the covariance of predictions")
	if err != nil {
		return nil, err
	}
	if err := checkJoint(m, hostmem.Free()); err != nil {
		return nil, err
	}
	scaled, err := mod.scaledRows(rows, m)
	if err != nil {
		return nil, err
	}
	xs := kernel.NewPoints(scaled, m, len(mod.Columns))
	mean, cov := make([]float64, m), make([]float64, m*m)
	if err := p.ws.Predict(ctx, p.prog, mod.Theta, mod.Alpha, xs, mean, nil); err != nil {
		return nil, err
	}
	if err := joint.PredictCovariance(ctx, p.prog, mod.Theta, xs, cov); err != nil {
		return nil, err
	}
	noise, err := mod.observationNoise(m, opts)
	if err != nil {
		return nil, err
	}
	uncertainty, err := p.meanUncertainty(ctx, p.prog, mod.Theta, xs, true)
	if err != nil {
		return nil, err
	}
	for i, v := range mod.means(scaled, m) {
		mean[i] += v
	}
	j := &Joint{Mean: mean, Cov: cov, order: m + mod.N()}
	if err := j.addPrior(ctx, p.prog, mod.Theta, xs, -1); err != nil {
		return nil, err
	}
	j.addProducts(uncertainty, len(mod.Mean.Basis))
	j.addNoise(noise)
	j.toOriginal(mod.Scaling)
	return j, j.check()
}

// Prior returns the prior distribution at n rows: the mean function and K**, plus
// σ²I for observations.
func (m *Model) Prior(ctx context.Context, rows []float64, n int, opts JointOptions) (*Joint, error) {
	scaled, err := m.scaledRows(rows, n)
	if err != nil {
		return nil, err
	}
	prog, err := m.Program()
	if err != nil {
		return nil, err
	}
	noise, err := m.observationNoise(n, opts)
	if err != nil {
		return nil, err
	}
	j, err := NewPrior(ctx, prog, m.Theta, kernel.NewPoints(scaled, n, len(m.Columns)), noise)
	if err != nil {
		return nil, err
	}
	copy(j.Mean, m.means(scaled, n))
	j.toOriginal(m.Scaling)
	return j, j.check()
}

// NewPrior returns the zero-mean distribution of the values at xs under a
// covariance function, with the noise variances (none, or one per point) on the
// diagonal. Errors are [*SizeError] and [*kernel.CompileError].
func NewPrior(ctx context.Context, prog *kernel.Program, theta []float64, xs *kernel.Points, noise []float64) (*Joint, error) {
	if err := checkJoint(xs.N, hostmem.Free()); err != nil {
		return nil, err
	}
	if err := prog.CheckTheta(theta); err != nil {
		return nil, err
	}
	if prog.D != xs.D || len(noise) != 0 && len(noise) != xs.N {
		return nil, fmt.Errorf("gp: a kernel of %d columns and %d noise variances for %d points of %d columns", prog.D, len(noise), xs.N, xs.D)
	}
	j := &Joint{Mean: make([]float64, xs.N), Cov: make([]float64, xs.N*xs.N), order: xs.N}
	if err := j.addPrior(ctx, prog, theta, xs, 1); err != nil {
		return nil, err
	}
	j.addNoise(noise)
	return j, j.check()
}

// check returns a [*RangeError] if a number is not finite.
func (j *Joint) check() error {
	m := len(j.Mean)
	for i := range m {
		if err := checkResult("covariance", m, j.Cov[i*m:(i+1)*m]); err != nil {
			return err
		}
	}
	return checkResult("mean", m, j.Mean)
}

// addPrior replaces Cov by K** + sign·Cov and keeps the largest variance of K**.
func (j *Joint) addPrior(ctx context.Context, prog *kernel.Program, theta []float64, xs *kernel.Points, sign float64) error {
	m := xs.N
	e := kernel.NewEvaluator(prog)
	e.Bind(theta)
	diagonal := make([]float64, m)
	e.Diagonal(diagonal, xs, 0, m)
	j.scale = slices.Max(append(diagonal, 0))
	return eachRow(ctx, m, prog, theta, func(e *kernel.Evaluator, piece []float64, i int) {
		for k0 := 0; k0 <= i; k0 += rowPiece {
			row := piece[:min(rowPiece, i+1-k0)]
			e.Row(row, xs, i, xs, k0, k0+len(row))
			for k, v := range row {
				k += k0
				v += sign * j.Cov[i*m+k]
				j.Cov[i*m+k], j.Cov[k*m+i] = v, v
			}
		}
	})
}

// observationNoise returns the noise on a joint distribution's diagonal, or nil for
// the function itself.
func (m *Model) observationNoise(n int, opts JointOptions) ([]float64, error) {
	if !opts.Observed {
		return nil, nil
	}
	return m.noises(n, opts.Noise)
}

// addProducts adds WᵀW for the q×m matrix w, column-major.
func (j *Joint) addProducts(w []float64, q int) {
	m := len(j.Mean)
	if len(w) == 0 {
		return
	}
	largest := 0.0
	for i := range m {
		for k := range i + 1 {
			v := floats.Dot(w[i*q:(i+1)*q], w[k*q:(k+1)*q])
			j.Cov[i*m+k] += v
			if k != i {
				j.Cov[k*m+i] += v
				continue
			}
			largest = max(largest, v)
		}
	}
	j.scale += largest
}

func (j *Joint) addNoise(noise []float64) {
	m := len(j.Mean)
	largest := 0.0
	for i, v := range noise {
		j.Cov[i*m+i] += v
		largest = max(largest, v)
	}
	j.scale += largest
}

// toOriginal converts mean and covariance from scaled to original units.
func (j *Joint) toOriginal(s Scaling) {
	for i, v := range j.Mean {
		j.Mean[i] = v*s.YScale + s.YMean
	}
	square := s.YScale * s.YScale
	for i := range j.Cov {
		j.Cov[i] *= square
	}
	j.scale *= square
}
