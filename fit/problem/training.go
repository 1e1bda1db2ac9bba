package problem

import (
	"fmt"
	"math"
	"slices"

	"gpfit/gp"
)

// TrainingData returns the training rows of a model as the data of a fit. Features that
// the model does not use are zero. It returns a [*DataError] if the model does not hold
// what is known about the noise of its rows.
func TrainingData(m *gp.Model) (Data, error) {
	n, all, d := m.N(), len(m.FeatureNames), len(m.Columns)
	data := Data{
		X: make([]float64, n*all), Y: m.Y, N: n, D: all, FeatureNames: m.FeatureNames, TargetName: m.TargetName, Encoding: m.Encoding,
		NoiseColumn: m.Noise.Column, NoiseGroupColumn: m.Noise.GroupColumn, WeightColumn: m.Noise.WeightColumn,
	}
	for i := range n {
		for q, c := range m.Columns {
			data.X[i*all+c] = m.X[i*d+q]
		}
		for c, name := range m.FeatureNames {
			if v, ok := m.Constants[name]; ok {
				data.X[i*all+c] = v
			}
		}
	}
	if len(m.Targets) > 0 {
		data.TargetName, data.TargetNames = "", m.TargetNames()
	}
	for _, row := range m.Rows {
		data.Row = append(data.Row, int(row))
	}
	return data, data.addTrainNoise(m)
}

// addTrainNoise finds the known variances, the groups or the weights of the training rows of a
// model, which holds only the variance of each row.
func (d *Data) addTrainNoise(m *gp.Model) error {
	noise := slices.Clone(m.TrainNoise)
	for k, i := range m.Noise.Outlying { // a fit from a robust model finds them again
		noise[i] = max(0, noise[i]-m.Noise.OutlyingVariances[k])
	}
	switch {
	case m.Noise.Column != "" && m.Noise.GroupColumn != "":
		return &DataError{"the model has known noise variances and groups, and does not hold which row has which: fit the whole table again, starting from this model"}
	case m.Noise.WeightColumn != "" && m.Noise.GroupColumn != "":
		return &DataError{"the model has weights and several noise variances, and does not hold which row has which: fit the whole table again, starting from this model"}
	case m.Noise.WeightColumn != "":
		for _, v := range noise {
			d.Weight = append(d.Weight, m.NoiseVariance/v)
		}
	case m.Noise.Column != "":
		square := m.Scaling.YScale * m.Scaling.YScale
		for _, v := range noise {
			d.NoiseVariance = append(d.NoiseVariance, math.Max(v-m.NoiseVariance, 0)*square)
		}
	case m.Noise.GroupColumn != "":
		sorted := slices.Clone(m.Noise.Variances)
		slices.Sort(sorted)
		if len(slices.Compact(sorted)) < len(m.Noise.Labels) {
			return &DataError{"two noise groups of the model have the same variance, and it does not hold the groups of its rows: fit the whole table again, starting from this model"}
		}
		for i, v := range noise {
			k := slices.IndexFunc(m.Noise.Variances, func(g float64) bool { return math.Abs(v-g) <= 1e-12*m.TrainNoise[i] }) // rounding of a difference
			if k < 0 {
				return &DataError{fmt.Sprintf("the noise variance of training row %d belongs to no group of the model", i)}
			}
			d.NoiseGroup = append(d.NoiseGroup, m.Noise.Labels[k])
		}
	}
	return nil
}
