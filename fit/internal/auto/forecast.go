package auto

import (
	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/fit/tuning"
	"gpfit/hyperopt"
)

// Forecast returns what each model of a choice, and the chosen one, are expected to take on b. The models that the data
// suggest, such as seasons, take as long as others of the same columns.
func Forecast(job *tuning.Job, b device.Backend) (out []tuning.Part) {
	c := newChooser(nil, &tuning.Workplace{Job: job, Backends: []device.Backend{b}}, nil) // nothing is computed
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
	add(singles[0], mean, func(of *tuning.Job) []hyperopt.Expectation {
		return hyperopt.Expected(of.Options.Settings, of.N(), of.Params.NumFree())
	})
	for _, kernel := range append(singles[1:len(singles):len(singles)], singles[0]+" + "+rough, isotropic) {
		add(kernel, mean, descent)
	}
	if d := c.sample.D(); d == 1 {
		add(seriesKernels[0], mean, descent)
	} else if d <= mostAdditive {
		add(singles[0]+" + "+additives[0], mean, descent)
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
	mean, kernels := problem.DefaultMean, seriesKernels
	if c.sample = lastRows(c, windowRows); c.sample != c.job.Sample {
		for _, kernel := range append(kernels[:len(kernels):len(kernels)], seriesKernels[0]+" + "+slow[1], seriesKernels[0]+" + "+wave) {
			add(kernel, mean, most(windowValues))
		}
		c.sample, kernels = c.job.Sample, kernels[:onAllRows]
	}
	for _, kernel := range kernels {
		add(kernel, mean, most(seriesValues))
	}
	add(kernels[0], mean, (*tuning.Job).Expected)
}
