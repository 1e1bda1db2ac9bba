package gp

import (
	"context"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/stat/distuv"

	"gpfit/device"
	"gpfit/internal/score"
)

// scored compares new rows with their predictions. With L₂₂L₂₂ᵀ = C, the covariance of the predictions from
// only the earlier rows, row j of L₂₂ has the variance of prediction j as its squared norm, and L₂₂⁻¹d are
// independent standard deviates for the differences d.
type scored struct {
	count, targets int
	// differences and white = L₂₂⁻¹d are count×T; variances has one element for each new row.
	differences, white, variances []float64
}

func newScored(differences []float64, count, targets int) *scored {
	return &scored{count, targets, differences, make([]float64, len(differences)), make([]float64, count)}
}

// add takes the elements 0 … j of row j of L₂₂, after the rows before it.
func (s *scored) add(j int, row []float64) {
	s.variances[j] = floats.Dot(row, row)
	for k := range s.targets {
		w := s.white[k*s.count : (k+1)*s.count]
		w[j] = (s.differences[k*s.count+j] - floats.Dot(row[:j], w[:j])) / row[j]
	}
}

// fromFactor takes the rows from a factor of all rows, of which the first known ones are the earlier rows.
func (s *scored) fromFactor(factor device.FactorStore, known int) error {
	n := known + s.count
	return eachBlock(known, n, func(rows []float64, r0, r1 int) error {
		if err := factor.ReadFactor(r0, r1, rows); err != nil {
			return err
		}
		for i := r0; i < r1; i++ {
			s.add(i-known, rows[(i-r0)*n+known:(i-r0)*n+i+1])
		}
		return nil
	})
}

// fromJoint takes the rows from the factor of C, with a method that has no factor of all rows. noise is the diagonal
// for all rows, one number if all are equal.
func (s *scored) fromJoint(ctx context.Context, m *Model, b device.Backend, add *Addition, noise []float64) error {
	before, err := m.Condition(ctx, b)
	if err != nil {
		return err
	}
	defer before.Close()
	xs, err := m.inputs().at(add.X, add.N)
	if err != nil {
		return err
	}
	c, err := before.joint(ctx, xs)
	if err != nil {
		return err
	}
	if len(noise) > 1 {
		noise = noise[len(noise)-add.N:]
	}
	for i := range add.N {
		c.Cov[i*add.N+i] += noise[min(i, len(noise)-1)]
	}
	l, ok := lapack64.Potrf(blas64.Symmetric{N: add.N, Stride: add.N, Data: c.Cov, Uplo: blas.Lower})
	if !ok {
		return &device.NotPDError{Minor: add.N, N: add.N}
	}
	for j := range add.N {
		s.add(j, l.Data[j*l.Stride:j*l.Stride+j+1])
	}
	return nil
}

// scores returns the scores of each target of the model with the new rows, after known earlier ones.
func (s *scored) scores(known int, after *Model) (out []ExtensionScores) {
	for k := range s.targets {
		one := after.Target(k)
		y, means := one.Y[known:], one.Scaling.Targets(one.Y[known:])
		floats.Sub(means, s.differences[k*s.count:(k+1)*s.count])
		p := newPrediction(one.Scaling, means, s.variances, make([]float64, s.count)).mixed(one)
		var sum score.Tally
		deviance := 0.0
		for j, w := range s.white[k*s.count : (k+1)*s.count] {
			sum.Add(y[j]-p.Mean[j], p.Density(j).NegLog(y[j]), y[j] >= p.Lower95[j] && y[j] <= p.Upper95[j])
			deviance += w * w
		}
		out = append(out, ExtensionScores{one.TargetName, sum.RMSE(), sum.NLPD(), sum.Coverage(0), deviance, twoSided(deviance, s.count)})
	}
	return out
}

// twoSided returns the probability that a χ² variable is as far out as v, on either side.
func twoSided(v float64, degrees int) float64 {
	d := distuv.ChiSquared{K: float64(degrees)}
	return min(1, 2*min(d.CDF(v), d.Survival(v)))
}
