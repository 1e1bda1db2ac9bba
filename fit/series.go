package fit

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"gpfit/fit/internal/spectrum"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/kernel"
)

// leastOfSeries is the number of rows from which an ascending column makes a series, as on the page of a model.
const leastOfSeries = 20

// timeColumn returns the first column in use that never falls from row to row of the table, and that is the only one or has
// regular steps; −1 if the rows are no series.
func timeColumn(s *problem.Sample) int {
	if s.N() < leastOfSeries {
		return -1
	}
	data, times := s.Data, make([]float64, s.Data.N)
	return slices.IndexFunc(s.Columns, func(feature int) bool {
		for i := range times {
			times[i] = data.X[i*data.D+feature]
		}
		return slices.IsSorted(times) && (s.D() == 1 || spectrum.Regular(times))
	})
}

// naiveForecast scores what takes no model for the held-out rows of a target of a series; nil if these do not all follow
// the training rows. Seasons are the periods of the kernel, with some values of its parameters, and the clearest one of the targets.
func naiveForecast(j *problem.Prepared, target int, values []float64) *summary.NaiveForecast {
	s := j.Sample
	n, m := s.N(), len(s.TestY)/s.T()
	column := timeColumn(s)
	if column < 0 || m == 0 {
		return nil
	}
	times, ahead := make([]float64, n), make([]float64, m)
	for i := range times {
		times[i] = s.X[i*s.D()+column]
	}
	order := make([]int, n) // folds have an order of their own
	floats.Argsort(times, order)
	for i := range ahead {
		ahead[i] = s.TestX[i*s.Data.D+s.Columns[column]]
	}
	if slices.Min(ahead) <= times[n-1] {
		return nil
	}
	var best *summary.NaiveForecast
	for _, season := range append(seasons(j, column, values), 0) {
		misses := make([]float64, m)
		for i, at := range ahead {
			misses[i] = s.TestY[target*m+i] - s.Y[target*n+order[before(times, at, season)]]
		}
		rmse := floats.Norm(misses, 2) / math.Sqrt(float64(m))
		if best == nil || rmse < best.RMSE {
			best = &summary.NaiveForecast{RMSE: rmse, RMSEStandardized: rmse / s.TargetScale(target), Season: season}
		}
	}
	return best
}

// before returns the row of ascending times that is nearest to whole seasons before a later time: the last row without a season.
func before(times []float64, at, season float64) int {
	last := len(times) - 1
	if season == 0 {
		return last
	}
	wanted := at - season*math.Ceil((at-times[last])/season)
	k, _ := slices.BinarySearch(times, wanted)
	if k > last || k > 0 && wanted-times[k-1] < times[k]-wanted {
		k--
	}
	return k
}

// seasons returns periods, in units of a column, that are shorter than half of the series.
func seasons(j *problem.Prepared, column int, values []float64) (out []float64) {
	x := j.Sample.Points
	for _, p := range j.Program().Params {
		if k := slices.Index(p.Dims, column); p.Kind == kernel.Period && k >= 0 {
			out = append(out, values[p.Offset+min(k, p.Size-1)])
		}
	}
	for _, f := range j.Model.Basis {
		if f.Period > 0 && f.Column == column && !slices.Contains(out, f.Width) {
			out = append(out, f.Width)
		}
	}
	if spectrum.PeriodicColumn(x, j.Sample.Targets) == column {
		period, _ := spectrum.Clearest(x, j.Sample.Targets, column)
		out = append(out, period)
	}
	most := (slices.Max(x.Column(column)) - slices.Min(x.Column(column))) / 2
	out = slices.DeleteFunc(out, func(p float64) bool { return !(p > 0 && p <= most) })
	floats.Scale(j.Sample.Scalings[0].XScale[column], out)
	return out
}
