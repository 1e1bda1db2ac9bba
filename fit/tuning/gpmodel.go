package tuning

import (
	"slices"

	"gpfit/fit/internal/pursuit"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/mean"
)

// Model collects what predictions need from the session's last evaluation, at z.
func (s *Placement) Model(z []float64, status string) *gp.Model {
	j, from := s.Job, s.Job.Sample
	theta, estimated, alpha := s.Objective.Theta()
	terms := s.Terms()
	m := &gp.Model{
		Kernel: j.Kernel(), Kernels: j.Options.Kernels, Columns: from.Columns, FeatureNames: from.Data.FeatureNames, Constants: from.Constants, Encoding: from.Data.Encoding, TargetName: from.Data.TargetName,
		ParameterNames: j.Program().Names(), Theta: theta, Jitter: terms.Jitter,
		Scaling: problem.ScalingAt(from.Scalings[0], j.Params, z), NLML: terms.NLML(), Status: status,
		X: from.X, Y: from.Y, Alpha: alpha, Rows: from.RowNumbers(), HeldOut: j.Held, Approximation: s.Approximation,
		Mean:  gp.Mean{Text: j.Model.Mean.String(), Basis: j.Model.Basis, LeastSquares: len(j.Model.Basis) > 0 && !j.Model.MeanFree},
		Noise: gp.Noise{Column: from.Data.NoiseColumn, WeightColumn: from.Data.WeightColumn},
	}
	if j.Experts.Several() {
		m.State = j.Experts.State()
	}
	m.Mean.Coefficients, _ = s.Coefficients(0, z)
	switch {
	case from.Noise.Labels != nil:
		m.Noise.GroupColumn, m.Noise.Labels, m.Noise.Variances = from.Data.NoiseGroupColumn, from.Noise.Labels, estimated
	case len(estimated) == 1:
		m.NoiseVariance = estimated[0]
	}
	if diagonal := s.Objective.Noise(); len(diagonal) > 1 {
		m.TrainNoise = diagonal
	}
	m.Noise.Outlying, m.Noise.OutlyingVariances = from.OutlyingRows()
	m.Noise.OutlyingShare = pursuit.Share(len(m.Noise.Outlying), from.N())
	count := float64(from.T())
	for i, name := range from.Data.TargetNames {
		beta, _ := s.Coefficients(i, z)
		m.Targets = append(m.Targets, gp.Target{
			Name: name, YMean: from.Scalings[i].YMean, YScale: from.Scalings[i].YScale, Coefficients: beta,
			NLML: terms.DataFits[i] + (terms.Complexity+terms.Constant)/count,
		})
		m.TargetName = from.Data.TargetNames[0]
	}
	return m
}

// Coefficients returns a target's β at z, which the session evaluated last, and, if
// least squares found them, their covariance.
func (s *Placement) Coefficients(target int, z []float64) (beta, covariance []float64) {
	m := s.Job.Model
	if !m.MeanFree {
		if beta, covariance = s.Objective.Mean(); beta != nil {
			q := len(m.Basis)
			beta = beta[target*q : (target+1)*q]
		}
		return beta, covariance
	}
	for i, p := range s.Job.Params.Free {
		if slices.ContainsFunc(m.Basis, func(f mean.Function) bool { return f.Group == p.Group }) {
			beta = append(beta, z[i])
		}
	}
	return beta, nil
}
