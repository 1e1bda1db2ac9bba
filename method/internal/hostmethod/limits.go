package hostmethod

import "gpfit/device"

// Limits list the abilities that a method lacks.
type Limits struct {
	// Method is the name of the method.
	Method string
	// Noise, Blocks, Diagonal and Factor say in an error what the method lacks for a workload with noise by row, with a middle
	// term of blocks or a diagonal one, or with a factor; "" means that it lacks nothing.
	Noise, Blocks, Diagonal, Factor string
	// AtForm means that contractions need Form at the same parameters, and predictions of means need Form.
	AtForm bool
}

// These are texts of limits.
const (
	NoBlocks = "blocks of the inverse, which folds and places of several rows need; the method dense does"
	NoFactor = "a factor of the covariance matrix; the method dense does"
)

// Refuse returns an [*device.UnsupportedError] for a workload that needs what the method lacks.
func (l Limits) Refuse(w device.Workload) error {
	for _, need := range []struct {
		asked bool
		what  string
	}{{w.NoiseByRow, l.Noise}, {w.Blocks != nil, l.Blocks}, {w.Diagonal, l.Diagonal}, {w.Factor, l.Factor}} {
		if need.asked && need.what != "" {
			return &device.UnsupportedError{Method: l.Method, What: need.what}
		}
	}
	return nil
}
