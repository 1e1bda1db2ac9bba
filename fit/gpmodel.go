package fit

import (
	"slices"

	"gpfit/gp"
	"gpfit/mean"
)

// model collects what predictions need from the session's last evaluation, at z.
func (s *session) model(z []float64, status string) *gp.Model {
	j, from := s.job, s.job.sample
	theta, estimated, alpha := s.obj.Theta()
	terms := s.obj.Terms()
	m := &gp.Model{
		Kernel: j.Kernel(), Kernels: j.opts.Kernels, Columns: from.columns, FeatureNames: from.data.FeatureNames, Encoding: from.data.Encoding, TargetName: from.data.TargetName,
		ParameterNames: j.Program().Names(), Theta: theta, Jitter: terms.Jitter,
		Scaling: from.scalings[0], NLML: terms.NLML(), Status: status,
		X: from.x, Y: from.y, Alpha: alpha, Rows: from.rowNumbers(), HeldOut: j.heldOut, Experts: j.experts,
		Mean:  gp.Mean{Text: j.model.mean.String(), Basis: j.model.basis, LeastSquares: len(j.model.basis) > 0 && !j.model.meanFree},
		Noise: gp.Noise{Column: from.data.NoiseColumn},
	}
	m.Mean.Coefficients, _ = s.coefficients(0, z)
	switch {
	case from.noise.Labels != nil:
		m.Noise.GroupColumn, m.Noise.Labels, m.Noise.Variances = from.data.NoiseGroupColumn, from.noise.Labels, estimated
	case len(estimated) == 1:
		m.NoiseVariance = estimated[0]
	}
	if diagonal := s.obj.Noise(); len(diagonal) > 1 {
		m.TrainNoise = diagonal
	}
	count := float64(from.t())
	for i, name := range from.data.TargetNames {
		beta, _ := s.coefficients(i, z)
		m.Targets = append(m.Targets, gp.Target{
			Name: name, YMean: from.scalings[i].YMean, YScale: from.scalings[i].YScale, Coefficients: beta,
			NLML: terms.DataFits[i] + (terms.Complexity+terms.Constant)/count,
		})
		m.TargetName = from.data.TargetNames[0]
	}
	return m
}

// coefficients returns a target's β at z, which the session evaluated last, and, if
// least squares found them, their covariance.
func (s *session) coefficients(target int, z []float64) (beta, covariance []float64) {
	m := s.job.model
	if !m.meanFree {
		if beta, covariance = s.obj.Mean(); beta != nil {
			q := len(m.basis)
			beta = beta[target*q : (target+1)*q]
		}
		return beta, covariance
	}
	for i, p := range s.job.params.free {
		if slices.ContainsFunc(m.basis, func(f mean.Function) bool { return f.Group == p.Group }) {
			beta = append(beta, z[i])
		}
	}
	return beta, nil
}
