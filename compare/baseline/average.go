package baseline

import (
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Averaging predicts the mean of the training targets, with their variance: the least that a
// method must beat.
type Averaging struct{}

// Fit fits an [*Average].
func (Averaging) Fit(x mat.Matrix, y []float64) (Model, error) {
	if err := checkTable(x, y); err != nil {
		return nil, err
	}
	_, d := x.Dims()
	n, m := float64(len(y)), &Average{D: d}
	for _, v := range y {
		m.Mean += v / n
	}
	if len(y) == 1 {
		return m, nil // the variance of one row is unknown
	}
	variance := 0.0
	for _, v := range y {
		variance += (v - m.Mean) * (v - m.Mean) / (n - 1)
	}
	variance *= 1 + 1/n
	m.Variance = &variance
	return m, nil
}

// Average is a normal distribution that does not depend on the D columns. Variance is nil if it is unknown.
type Average struct {
	D        int      `json:"d"`
	Mean     float64  `json:"mean"`
	Variance *float64 `json:"variance,omitempty"`
}

func (a *Average) complete(d int) error { return check(a.D == d) }

// Predict implements [Model].
func (a *Average) Predict(x mat.Matrix) (Prediction, error) {
	if err := checkWidth(x, a.D); err != nil {
		return Prediction{}, err
	}
	n, _ := x.Dims()
	out := Prediction{Mean: slices.Repeat([]float64{a.Mean}, n)}
	if a.Variance != nil {
		out.Variance = slices.Repeat([]float64{*a.Variance}, n)
	}
	return out, nil
}
