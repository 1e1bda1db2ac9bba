package gp

import (
	"slices"

	"gpfit/device"
	"gpfit/internal/matrixrows"
	"gpfit/kernel"
	"gpfit/method/experts"
)

// NewLocal returns the parameters of a model of one expert's rows.
func NewLocal(m *Model) Local {
	out := Local{Theta: m.Theta, NoiseVariance: m.NoiseVariance, NoiseVariances: m.Noise.Variances, Jitter: m.Jitter, NLML: m.NLML, Status: m.Status}
	if len(m.Mean.Basis) > 0 {
		for t := range m.T() {
			out.Coefficients = append(out.Coefficients, m.Target(t).Mean.Coefficients)
		}
	}
	return out
}

// LocalModel returns the model of one local expert, k, with the training rows of that
// number, as [Model.ExpertRows] returns them. It has the scaling of m.
func (m *Model) LocalModel(k int, rows []int) *Model {
	one, own, n, d := *m, m.Locals[k], m.N(), len(m.Columns)
	one.Experts, one.Locals, one.Draws, one.Record, one.HeldOut, one.factorPath = nil, nil, nil, nil, nil, ""
	one.Theta, one.NoiseVariance, one.Noise.Variances = own.Theta, own.NoiseVariance, own.NoiseVariances
	one.Jitter, one.NLML, one.Status = own.Jitter, own.NLML, own.Status
	one.Targets = slices.Clone(m.Targets)
	if own.Coefficients != nil {
		one.Mean.Coefficients = own.Coefficients[0]
		for t := range one.Targets {
			one.Targets[t].Coefficients = own.Coefficients[t]
		}
	}
	one.X, one.Rows = nil, nil
	for _, i := range rows {
		one.X, one.Rows = append(one.X, m.X[i*d:(i+1)*d]...), append(one.Rows, float64(m.Row(i)))
	}
	one.Y, one.Alpha, one.TrainNoise = matrixrows.Rows(m.Y, rows, n, 1), matrixrows.Rows(m.Alpha, rows, n, 1), matrixrows.Rows(m.TrainNoise, rows, n, 1)
	return &one
}

// Backend returns the backend on which the model is conditioned: b, with the method for the training rows if that
// was left to the program, or if the model has local experts, a backend that computes with them on b.
func (m *Model) Backend(b device.Backend) device.Backend {
	if m.Experts != nil {
		return m.Experts.On(b)
	}
	w, err := Workload(m)
	if err != nil {
		return b
	}
	return device.For(b, w)
}

// Workload returns what decides about devices and methods for predictions with a model: the training rows, or the number of rows
// of the largest local expert.
func Workload(m *Model) (device.Workload, error) {
	prog, err := m.Program()
	if err != nil {
		return device.Workload{}, err
	}
	w := device.Workload{N: m.LargestMatrix(), D: len(m.Columns), Program: prog, NoiseByRow: m.TrainNoise != nil}
	if m.Experts == nil {
		w.Points = trainingPoints(m)
	}
	return w, nil
}

// LargestMatrix returns the number of rows of the largest matrix with which predictions
// compute: all training rows, or the rows of the largest local expert.
func (m *Model) LargestMatrix() int {
	if m.Experts == nil {
		return m.N()
	}
	return m.Experts.Largest()
}

// ExpertRows returns the training rows of each local expert, ascending; nil without experts.
func (m *Model) ExpertRows() [][]int {
	if m.Experts == nil {
		return nil
	}
	out := make([][]int, len(m.Experts.Centres))
	for i, k := range m.Experts.Assign(kernel.NewPoints(m.Scaling.Inputs(m.X), m.N(), len(m.Columns))) {
		out[k] = append(out[k], i)
	}
	return out
}

// oneProcess returns a [*device.UnsupportedError] if the model has several local experts,
// for results that need the covariance of rows of different experts.
func (m *Model) oneProcess(what string) error {
	if m.Experts == nil || len(m.Experts.Centres) == 1 {
		return nil
	}
	return &device.UnsupportedError{Method: experts.Name, What: what}
}
