package gp

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/stat/distuv"

	"gpfit/device"
	"gpfit/internal/score"
	"gpfit/mean"
)

// foresight has what a model says of m new rows, in scaled units.
type foresight struct {
	model *Model
	// differences are the targets of the new rows minus their predicted means, m×T; latent and noise are the variances
	// of the function and of the noise.
	differences, latent, noise []float64
	// The covariance C of the observations, with the uncertainty of the mean's coefficients, has C⁻¹ = the block of
	// P = A⁻ᵀ(I − U(UᵀU)⁻¹Uᵀ)A⁻¹ for the new rows, the last ones of rows, where U = A⁻¹H is basis. whiten multiplies
	// columns by A⁻¹, and white are the columns A⁻¹[0; d], rows×T, for the differences d. whiten is nil if C has no factor.
	rows         int
	basis, white []float64
	whiten       func(b []float64, columns int) error
}

// factored is a workspace with a Cholesky factor.
type factored interface {
	device.FactorStore
	device.Whitener
}

// foreseen returns what the model says of its rows from known on if it knows only those before. The factor L of all
// rows has it, with R of Rasmussen & Williams (2006), eq. 2.42:
//
//	L⁻¹[H, y − Hβ] = [U₁, ·; U₂, w],  HᵀΣ₁₁⁻¹H = U₁ᵀU₁ of the known rows,  R = L₂₂U₂,  d = L₂₂w
func (s *system) foreseen(ctx context.Context, factor factored, known int) (*foresight, error) {
	m, n := s.whole, s.x.N
	f := &foresight{model: m, rows: n, white: m.Residuals()}
	f.whiten = func(b []float64, columns int) error { return factor.Whiten(ctx, b, columns, false) }
	if m.Mean.LeastSquares {
		f.basis = m.Mean.Basis.Evaluate(s.x)
	}
	q := len(f.basis) / n
	both := slices.Concat(f.white, f.basis)
	if err := f.whiten(both, m.T()+q); err != nil {
		return nil, err
	}
	f.white, f.basis = both[:len(f.white)], both[len(f.white):]
	r, err := f.fromRows(factor, known, q)
	if err != nil || q == 0 {
		return f, err
	}
	var first []float64
	for j := range q {
		first = append(first, f.basis[j*n:j*n+known]...)
	}
	gls, err := mean.NewGLS(first, first, known)
	if err != nil {
		return nil, err
	}
	gls.Whiten(r)
	for i, v := range r {
		f.latent[i/q] += v * v
	}
	return f, nil
}

// fromRows computes the differences and variances for known coefficients, and returns R, q×m, from the rows of L₂₂.
func (f *foresight) fromRows(factor device.FactorStore, known, q int) (r []float64, err error) {
	n, t := f.rows, f.model.T()
	m, diagonal := n-known, f.model.NoiseDiagonal()
	f.differences, f.latent, f.noise, r = make([]float64, m*t), make([]float64, m), make([]float64, m), make([]float64, m*q)
	err = eachBlock(known, n, func(rows []float64, r0, r1 int) error {
		if err := factor.ReadFactor(r0, r1, rows); err != nil {
			return err
		}
		for i := r0; i < r1; i++ {
			j, row := i-known, rows[(i-r0)*n+known:(i-r0)*n+i+1]
			added := diagonal[min(i, len(diagonal)-1)]
			f.latent[j], f.noise[j] = max(floats.Dot(row, row)-added, 0), added-f.model.Jitter
			for k := range t {
				f.differences[k*m+j] = floats.Dot(row, f.white[k*n+known:k*n+i+1])
			}
			for k := range q {
				r[j*q+k] = floats.Dot(row, f.basis[k*n+known:k*n+i+1])
			}
		}
		return nil
	})
	for k := range t {
		clear(f.white[k*n : k*n+known])
	}
	return r, err
}

// foresee returns what the model of a system says of new rows, from the covariance of its predictions.
func (s *system) foresee(ctx context.Context, add *Addition) (*foresight, error) {
	m, count := s.whole, add.N
	xs, err := m.inputs().at(add.X, count)
	if err != nil {
		return nil, err
	}
	f := &foresight{model: m, rows: count}
	if f.noise, err = add.Noise.Variances(m, count); err != nil {
		return nil, err
	}
	var sums, w []float64
	if sums, f.latent, err = s.predict(ctx, s.covariance, m.Alpha, xs, true); err != nil {
		return nil, err
	}
	for t, means := range withMeans(m.targets(), xs, sums) {
		d := m.Target(t).Scaling.Targets(add.Y[t*count : (t+1)*count])
		floats.Sub(d, means)
		f.differences = append(f.differences, d...)
	}
	c, err := s.joint(ctx, xs)
	if err != nil {
		return nil, err
	}
	if w, err = s.meanUncertainty(ctx, s.covariance, xs, true); err != nil {
		return nil, err
	}
	c.addProducts(w, len(m.Mean.Basis))
	for i, v := range f.noise {
		c.Cov[i*count+i] += v + m.Jitter
	}
	l, ok := lapack64.Potrf(blas64.Symmetric{N: count, Stride: count, Data: c.Cov, Uplo: blas.Lower})
	if !ok { // to rounding, as for many close rows without noise
		return f, nil
	}
	f.whiten = func(b []float64, columns int) error {
		blas64.Trsm(blas.Right, blas.Trans, 1, l, blas64.General{Rows: columns, Cols: count, Stride: count, Data: b})
		return nil
	}
	f.white = slices.Clone(f.differences)
	return f, f.whiten(f.white, m.T())
}

// deviance returns dᵀC⁻¹d of target t over the new rows that are not in out. It is the least sum of squares
// ‖A⁻¹([0; d] − Hβ − Eδ)‖² over β and the errors δ of the rows in out, for which E has columns of the identity.
func (f *foresight) deviance(t int, out []int) (float64, error) {
	n, known := f.rows, f.rows-len(f.latent)
	rest, errors := slices.Clone(f.white[t*n:(t+1)*n]), make([]float64, n*len(out))
	for k, i := range out {
		errors[k*n+known+i] = 1
	}
	var err error
	if len(out) > 0 {
		err = f.whiten(errors, len(out))
	}
	if columns := slices.Concat(f.basis, errors); err == nil && len(columns) > 0 {
		var gls *mean.GLS
		if gls, err = mean.NewGLS(columns, columns, n); err == nil {
			for k, b := range gls.Coefficients(rest) {
				floats.AddScaled(rest, -b, columns[k*n:(k+1)*n])
			}
		}
	}
	return floats.Dot(rest, rest), err
}

// scored adds up what a model, or each of its draws, says of new rows.
type scored struct {
	add    *Addition
	before *Model
	of     []scoredTarget
}

// scoredTarget has the predictions of each draw, and sums over the draws that can be tested.
type scoredTarget struct {
	predictions                       []*Prediction
	tested                            int
	deviance, outlying, below, beyond float64
}

// seeEarlier adds what the model without the new rows says: each of its draws, or the parameters if it has none.
func (s *scored) seeEarlier(ctx context.Context, b device.Backend) error {
	if s.before.Draws.Len() == 0 {
		p, err := s.before.Condition(ctx, b)
		if err == nil {
			defer p.Close()
			err = s.see(p.foresee(ctx, s.add))
		}
		return err
	}
	x, err := NewMixture(ctx, s.before, b, MostDraws)
	if err != nil {
		return err
	}
	defer x.Close()
	for i := range x.use {
		one, err := x.draw(ctx, i)
		if err == nil {
			err = s.see(one.foresee(ctx, s.add))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// see adds what one model says, unless there is an error.
func (s *scored) see(f *foresight, err error) error {
	m := s.add.N
	for t := range s.of {
		if err != nil {
			return err
		}
		one := f.model.Target(t)
		means := one.Scaling.Targets(s.add.Y[t*m : (t+1)*m])
		floats.Sub(means, f.differences[t*m:(t+1)*m])
		s.of[t].predictions = append(s.of[t].predictions, newPrediction(one.Scaling, means, f.latent, f.noise).mixed(one).untail(s.before.Target(t)))
		if f.whiten != nil {
			err = s.of[t].test(f, t, s.before)
		}
	}
	return err
}

// test adds a test of the deviance of target t. Rows that do not fit make it neither larger nor smaller.
func (s *scoredTarget) test(f *foresight, t int, before *Model) error {
	m, out := len(f.latent), []int(nil)
	for i, v := range f.latent {
		if d := f.differences[t*m+i]; len(before.Noise.Outlying) > 0 && !before.Noise.Fits(d/math.Sqrt(v+f.noise[i]), before.N()) {
			out = append(out, i)
		}
	}
	all, err := f.deviance(t, nil)
	if err != nil {
		return err
	}
	fitting, err := f.deviance(t, out)
	s.tested++
	s.deviance, s.outlying = s.deviance+fitting, s.outlying+float64(len(out))
	s.below += distuv.ChiSquared{K: float64(m)}.CDF(all)
	beyond := 1.0 // if no row counts
	if len(out) < m {
		beyond = distuv.ChiSquared{K: float64(m - len(out))}.Survival(fitting)
	}
	s.beyond += beyond
	return err
}

// scores returns the scores of each target.
func (s *scored) scores() (out []ExtensionScores, err error) {
	m := s.add.N
	for t, sum := range s.of {
		if sum.tested == 0 {
			return nil, &device.NotPDError{Minor: m, N: m}
		}
		p, y := sum.predictions[0], s.add.Y[t*m:(t+1)*m]
		if s.before.Draws.Len() > 0 {
			p = &Prediction{Parts: sum.predictions}
			p.mix(m)
		}
		var tally score.Tally
		for i, y := range y {
			tally.Add(y-p.Mean[i], p.Density(i).NegLog(y), y >= p.Lower95[i] && y <= p.Upper95[i])
		}
		share := 1 / float64(sum.tested)
		out = append(out, ExtensionScores{
			Name: s.before.Target(t).TargetName, RMSE: tally.RMSE(), NLPD: tally.NLPD(), Coverage95: tally.Coverage(0),
			Deviance: share * sum.deviance, Outlying: int(math.Round(share * sum.outlying)), PValue: min(1, 2*share*min(sum.below, sum.beyond)),
		})
	}
	return out, nil
}

// Fits reports whether a new row, whose error is off in standard deviations, belongs to the rows that fit, for a model of
// n training rows: option robust, which gave some of these noise variances of their own, would gain less by such a variance
// than its prior costs (see docs/model.md).
func (z *Noise) Fits(off float64, n int) bool {
	k, rows := float64(len(z.Outlying)), float64(n)
	off = max(1, min(math.Abs(off), 1e50))
	gain := (off*off-1)/2 - math.Log(off)            // of the best variance, off² − 1 times the row's
	return !(gain > 5/rows+math.Log((rows-k)/(k+1))) // an error that is no number says nothing
}
