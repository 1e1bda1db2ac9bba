package auto

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"gpfit/device"
	"gpfit/fit/internal/spectrum"
	"gpfit/fit/problem"
	"gpfit/fit/tuning"
	"gpfit/hyperopt"
)

// Forecast returns what each model of a choice, and the chosen one, are expected to take on b. The models that the data
// suggest, such as seasons, take as long as others of the same columns.
func Forecast(job *tuning.Job, b device.Backend) (out []tuning.Part) {
	c := newChooser(context.Background(), &tuning.Workplace{Job: job, Backends: []device.Backend{b}}, nil) // nothing is computed
	add := func(kernel string, mean string, stages func(*tuning.Job) []hyperopt.Expectation) {
		if of, err := c.with(kernel, mean, nil, c.sample); err == nil {
			out = append(out, of.Forecast(b, stages(of)))
		}
	}
	twice := func() {
		for i := range out {
			if logSuits(c) {
				out[i] = out[i].Times(2)
			}
		}
	}
	mean, descent := job.Options.Mean, (*tuning.Job).Descent
	if c.series {
		forecastSeries(c, add)
		return out
	}
	alone := func(of *tuning.Job) []hyperopt.Expectation {
		return hyperopt.Expected(of.Options.Settings, of.N(), of.Params.NumFree())
	}
	add(singles[0], mean, alone)
	if findSeasons(c); c.seasons != nil && c.seasons.seasons != nil {
		c.seasons.forecast(c, add)
		twice()
		if job.Restarts() > job.Options.Settings.Restarts {
			add(recurring, problem.DefaultMean, (*tuning.Job).Expected)
			out[len(out)-1] = out[len(out)-1].Times(0.5) // it is often one with fewer parameters
		}
		return out
	}
	for _, kernel := range append(singles[1:len(singles):len(singles)], singles[2]+" + "+rough, isotropic) {
		add(kernel, mean, descent)
	}
	d := c.sample.D()
	if column, _ := spectrum.PeriodicColumn(job.Sample.Points, job.Sample.Targets); column >= 0 && c.seasons != nil {
		forecastForms(add)
	} else if column >= 0 {
		add(periodicSum(singles[2], job.Sample.Columns[column]), mean, alone)
	} else if d > 1 && d <= mostAdditive {
		add(singles[0]+" + "+additives[0], mean, descent)
		if c.averages(job) {
			add(blend, mean, descent)
		}
	}
	if d == 1 {
		add(seriesKernels[0], mean, descent)
	}
	if longTails(job) != nil {
		add(singles[2], mean, descent)
	}
	if _, open := job.ChoosesTransforms(); open && !ordered(job.Sample) {
		add(singles[2], mean, func(of *tuning.Job) []hyperopt.Expectation {
			return []hyperopt.Expectation{{Rows: min(of.N(), transformRows), Values: transformValues}}
		})
	}
	if linear, _, _ := problem.LinearMean(job.Options, c.sample); linear != "" {
		add(singles[0], linear, descent)
	}
	twice()
	if c.sample != job.Sample || job.Restarts() > job.Options.Settings.Restarts {
		c.sample = job.Sample
		add(singles[0], mean, (*tuning.Job).Expected)
	}
	return out
}

// formValues is about how many values a season of any form takes, and transformValues a comparison of transforms.
const formValues, transformValues = 32, 30

// forecast adds the models of a short series with seasons.
func (s *seasonal) forecast(c *chooser, add func(kernel, mean string, stages func(*tuning.Job) []hyperopt.Expectation)) {
	kernels := []string{singles[1], singles[1], seriesKernels[0]}
	for i, mean := range []string{c.job.Options.Mean, "linear", c.job.Options.Mean, s.mean(false, false), s.mean(false, true), s.mean(true, false)} {
		if mean != "" {
			add(append(kernels, slices.Repeat(seriesKernels[1:2], 3)...)[i], mean, (*tuning.Job).Descent)
		}
	}
	forecastForms(add)
}

// logSuits reports whether targets seem to be better described by their logarithms: by the density of what they add to the value a season
// before, or to the mean. Then a choice is made twice.
func logSuits(c *chooser) bool {
	if _, open := c.job.ChoosesTransforms(); !open || !allPositive(c.job) {
		return false
	}
	y, lag := c.job.Sample.Y[:c.job.N()], 0
	if ordered(c.job.Sample) {
		if c.seasons == nil || c.seasons.seasons == nil {
			return false
		}
		lag = int(math.Round(c.seasons.seasons[0].Steps))
	}
	logs, volume := make([]float64, len(y)), 0.
	for i, v := range y {
		logs[i] = math.Log(v)
		volume += logs[i]
	}
	change := func(v []float64) float64 {
		if lag == 0 || lag >= len(v) {
			return stat.Variance(v, nil)
		}
		out := slices.Clone(v[lag:])
		floats.Sub(out, v[:len(v)-lag])
		return floats.Dot(out, out) / float64(len(out))
	}
	return float64(len(y))*math.Log(change(y)/change(logs)) > 2*volume+clearBIC
}

// forecastForms adds seasons of any form.
func forecastForms(add func(kernel, mean string, stages func(*tuning.Job) []hyperopt.Expectation)) {
	for _, kernel := range []string{recurring, drifting} {
		for _, mean := range []string{problem.DefaultMean, "linear"} {
			add(kernel, mean, func(of *tuning.Job) []hyperopt.Expectation {
				return []hyperopt.Expectation{{Rows: of.N(), Values: formValues}}
			})
		}
	}
}

// forecastSeries adds the models of a long series: on its last rows, and the best of them on all.
func forecastSeries(c *chooser, add func(kernel, mean string, stages func(*tuning.Job) []hyperopt.Expectation)) {
	most := func(values int) func(of *tuning.Job) []hyperopt.Expectation {
		return func(of *tuning.Job) []hyperopt.Expectation {
			return []hyperopt.Expectation{{Rows: of.N(), Values: values}}
		}
	}
	mean, middle := problem.DefaultMean, seriesKernels[len(seriesKernels)/2]
	sums := []string{middle + " + " + slow[1], middle + " + " + wave}
	c.sample = lastRows(c, windowRows)
	for _, kernel := range slices.Concat(seriesKernels, sums) {
		add(kernel, mean, most(windowValues))
	}
	if c.sample != c.job.Sample {
		c.sample = c.job.Sample
		for _, kernel := range sums {
			add(kernel, mean, most(seriesValues))
		}
	} else if newSeasonal(c).seasons != nil { // beside them a wave that grows, which goes on to converge
		add(sums[0]+" + "+wave, mean, most(2*windowValues))
	}
	add(sums[1], mean, most(seriesValues))
}
