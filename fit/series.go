package fit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"

	"gpfit/fit/internal/spectrum"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/score"
	"gpfit/table/feature"
)

// leastOfSeries is the number of rows from which an ascending column makes a series, as on the page of a model.
const leastOfSeries = 20

// timeColumn returns the first column in use that never falls from row to row of the table, and that is the only one or has
// regular steps; −1 if the rows are no series. A hold-out of the latest rows names the column.
func timeColumn(s *problem.Sample, held *gp.HeldOut) int {
	if s.N() < leastOfSeries {
		return -1
	}
	if held != nil && held.By != "" {
		return slices.IndexFunc(s.Columns, func(feature int) bool { return s.Features[feature] == held.By })
	}
	data, times := s.Data, make([]float64, s.Data.N)
	return slices.IndexFunc(s.Columns, func(feature int) bool {
		for i := range times {
			times[i] = data.X[i*data.D+feature]
		}
		return slices.IsSorted(times) && (s.D() == 1 || spectrum.Regular(times))
	})
}

// forecast compares predictions of the held-out rows of a series with what takes no model.
type forecast struct {
	*problem.Sample
	name string
	unit feature.Unit
	// times are of the training rows, ascending, and order has the numbers of these; ahead are of the held-out rows.
	times, ahead []float64
	order        []int
	// seasons are the periods of the kernel and of the mean, with some values of the parameters, and the clearest one of the targets;
	// 0 stands for the last value.
	seasons []float64
}

// newForecast returns nil if the held-out rows do not all follow the training rows of a series. m is the model that predicts them.
func newForecast(j *problem.Prepared, m *gp.Model) (*forecast, error) {
	s := j.Sample
	f := &forecast{Sample: s, times: make([]float64, s.N()), order: make([]int, s.N()), ahead: make([]float64, len(s.TestY)/s.T())}
	column := timeColumn(s, j.Held)
	if column < 0 || len(f.ahead) == 0 {
		return nil, nil
	}
	for i := range f.times {
		f.times[i] = s.X[i*s.D()+column]
	}
	floats.Argsort(f.times, f.order) // folds have an order of their own
	for i := range f.ahead {
		f.ahead[i] = s.TestX[i*s.Data.D+s.Columns[column]]
	}
	if slices.Min(f.ahead) <= f.times[len(f.times)-1] {
		return nil, nil
	}
	f.name = s.Features[s.Columns[column]]
	f.unit = s.Data.Encoding.Unit(f.name)
	var err error
	f.seasons, err = f.seasonsOf(m, column)
	return f, err
}

// naive returns the forecast of a target without a model that misses the held-out rows least, and its misses.
func (f *forecast) naive(target int) (best *summary.NaiveForecast, misses []float64) {
	m := len(f.ahead)
	for _, season := range f.seasons {
		all := make([]float64, m)
		for i, at := range f.ahead {
			all[i] = f.TestY[target*m+i] - f.Y[target*len(f.times)+f.order[before(f.times, at, season)]]
		}
		if rmse := floats.Norm(all, 2) / math.Sqrt(float64(m)); best == nil || rmse < best.RMSE {
			best = &summary.NaiveForecast{RMSE: rmse, RMSEStandardized: rmse / f.TargetScale(target), Season: season, Column: f.name, Unit: f.unit}
			misses = all
		}
	}
	return best, misses
}

// The shares of the held-out rows, the first ones of the forecast, whose scores a report has, and the least number of all.
var horizonShares = []float64{0.1, 0.5, 1}

const leastOfHorizons = 20

// horizons scores the first rows of the forecast of a target.
func (f *forecast) horizons(rows *gp.LeaveOneOut, naive []float64) (out []summary.HorizonScores) {
	m := len(f.ahead)
	if m < leastOfHorizons {
		return nil
	}
	order := make([]int, m)
	ahead := slices.Clone(f.ahead)
	floats.ArgsortStable(ahead, order)
	for _, share := range horizonShares {
		n := int(math.Round(share * float64(m)))
		for n < m && ahead[n] == ahead[n-1] { // rows of one time
			n++
		}
		if len(out) > 0 && out[len(out)-1].N == n {
			continue
		}
		var model, without score.Tally
		for _, i := range order[:n] {
			model.Add(rows.Residual[i], -rows.LogDensity[i], math.Abs(rows.Standardized[i]) <= score.Z95)
			without.Add(naive[i], 0)
		}
		out = append(out, summary.HorizonScores{
			N: n, Ahead: ahead[n-1] - f.times[len(f.times)-1], RMSE: model.RMSE(), NaiveRMSE: without.RMSE(), NLPD: summary.Number(model.NLPD()), Coverage95: model.Coverage(0),
		})
	}
	return out
}

// before returns the row of ascending times that is nearest to whole seasons before a later time: the last row without a season.
func before(times []float64, at, season float64) int {
	last := len(times) - 1
	if season == 0 {
		return last
	}
	wanted := at - season*math.Ceil((at-times[last])/season-1e-9) // a season may be rounded
	k, _ := slices.BinarySearch(times, wanted)
	if k > last || k > 0 && wanted-times[k-1] < times[k]-wanted {
		k--
	}
	return k
}

// seasonsOf returns the periods of a model and the clearest one of the targets, as far as they are shorter than half of the series,
// and 0 for the last value.
func (f *forecast) seasonsOf(m *gp.Model, column int) ([]float64, error) {
	out, err := m.Seasons(column)
	if clearest, period := spectrum.PeriodicColumn(f.Points, f.Targets); clearest == column {
		period *= f.Scalings[0].XScale[column]
		if !slices.ContainsFunc(out, func(p float64) bool { return math.Abs(p-period) < 0.01*p }) { // the model knows it better
			out = append(out, period)
		}
	}
	most := (f.times[len(f.times)-1] - f.times[0]) / 2
	out = slices.DeleteFunc(out, func(p float64) bool { return !(p > 0 && p <= most) })
	return append(out, 0), err
}

// Constants of a season that a model lacks: how near a multiple or a part of its period has to be to one of the model's, the most
// such multiples, and the most harmonics to add.
const (
	sameSeason    = 0.02
	mostMultiples = 24
	mostHarmonics = 6
)

// missedSeason returns the strongest season of a series of one column that neither kernel nor mean of a model has, nil if there is
// none or the rows are no such series.
func missedSeason(j *problem.Prepared, m *gp.Model) *summary.MissedSeason {
	s := j.Sample
	if s.D() != 1 || s.T() != 1 || j.Experts != nil || timeColumn(s, j.Held) != 0 {
		return nil
	}
	has, err := m.Seasons(0)
	if err != nil {
		return nil
	}
	left := s.Targets
	if j.Options.Robust { // whose outlying rows hide seasons of the targets, but hardly of Σ⁻¹(y − m)
		left = m.Alpha
	}
	for _, season := range spectrum.Seasons(s.X, left) {
		related := slices.ContainsFunc(has, func(p float64) bool {
			ratio := max(p/season.Period, season.Period/p)
			return math.Abs(ratio-math.Round(ratio)) < sameSeason*ratio && ratio < mostMultiples
		})
		if season.Known || related {
			continue
		}
		name := s.Features[s.Columns[0]]
		out := &summary.MissedSeason{Column: name, Period: season.Period, Unit: s.Data.Encoding.Unit(name)}
		if !season.Cycle {
			term := fmt.Sprintf("seasonal(%s, %d)", strconv.FormatFloat(season.Period, 'g', -1, 64), min(max(season.Harmonics(1, false), 1), mostHarmonics))
			out.Mean = strings.TrimPrefix(cmp.Or(m.Mean.Text, problem.DefaultMean)+" + "+term, "zero + ")
		}
		return out
	}
	return nil
}
