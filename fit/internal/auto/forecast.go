package auto

import (
	"context"
	"slices"

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
	mean, descent := job.Options.Mean, (*tuning.Job).Descent
	if c.series {
		forecastSeries(c, add)
		return out
	}
	alone := func(of *tuning.Job) []hyperopt.Expectation {
		return hyperopt.Expected(of.Options.Settings, of.N(), of.Params.NumFree())
	}
	add(singles[0], mean, alone)
	for _, kernel := range append(singles[1:len(singles):len(singles)], singles[0]+" + "+rough, isotropic) {
		add(kernel, mean, descent)
	}
	d := c.sample.D()
	if column, _ := spectrum.PeriodicColumn(job.Sample.Points, job.Sample.Targets); column >= 0 {
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
	if linear, _, _ := problem.LinearMean(job.Options, c.sample); linear != "" {
		add(singles[0], linear, descent)
	}
	if c.sample != job.Sample || job.Restarts() > job.Options.Settings.Restarts {
		c.sample = job.Sample
		add(singles[0], mean, (*tuning.Job).Expected)
	}
	return out
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
	}
	add(sums[1], mean, most(seriesValues))
}
