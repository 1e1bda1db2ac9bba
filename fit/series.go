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

// isSeries reports whether the only column in use never falls from row to row of the table.
func isSeries(s *problem.Sample) bool {
	if s.D() != 1 || s.N() < leastOfSeries {
		return false
	}
	data, times := s.Data, make([]float64, s.Data.N)
	for i := range times {
		times[i] = data.X[i*data.D+s.Columns[0]]
	}
	return slices.IsSorted(times)
}

// naiveForecast scores what takes no model for the held-out rows of a target of a series; nil if these do not all follow
// the training rows. Seasons are the periods of the kernel, with some values of its parameters, and the clearest one of the targets.
func naiveForecast(j *problem.Prepared, target int, values []float64) *summary.NaiveForecast {
	s := j.Sample
	n, m := s.N(), len(s.TestY)/s.T()
	if !isSeries(s) || m == 0 {
		return nil
	}
	times, ahead := slices.Clone(s.X), make([]float64, m)
	order := make([]int, n) // folds have an order of their own
	floats.Argsort(times, order)
	for i := range ahead {
		ahead[i] = s.TestX[i*s.Data.D+s.Columns[0]]
	}
	if slices.Min(ahead) <= times[n-1] {
		return nil
	}
	var best *summary.NaiveForecast
	for _, season := range append(seasons(j, values), 0) {
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

// seasons returns periods, in units of the only column, that are shorter than half of the series.
func seasons(j *problem.Prepared, values []float64) (out []float64) {
	x := j.Sample.Points
	for _, p := range j.Program().Params {
		if p.Kind == kernel.Period {
			out = append(out, values[p.Offset:p.Offset+p.Size]...)
		}
	}
	if spectrum.PeriodicColumn(x, j.Sample.Targets) == 0 {
		period, _ := spectrum.Clearest(x, j.Sample.Targets, 0)
		out = append(out, period)
	}
	most := (slices.Max(x.X) - slices.Min(x.X)) / 2
	out = slices.DeleteFunc(out, func(p float64) bool { return !(p > 0 && p <= most) })
	floats.Scale(j.Sample.Scalings[0].XScale[0], out)
	return out
}
