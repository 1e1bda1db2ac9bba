package tuning

import (
	"cmp"
	"time"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/hyperopt"
	"gpfit/method/markov"
)

// Part is a part of a fit: the values of one model.
type Part struct {
	Kernel string `json:"kernel"`
	// Rows is the largest number of rows, and Values is about how many values the part takes.
	Rows   int `json:"rows"`
	Values int `json:"values"`
	// Seconds is the time of these, 0 if it is unknown.
	Seconds float64 `json:"seconds,omitempty"`
}

// Time returns the seconds as a duration.
func (p Part) Time() time.Duration { return time.Duration(p.Seconds * float64(time.Second)) }

// Times returns some times as much of the part.
func (p Part) Times(factor float64) Part {
	p.Values, p.Seconds = int(factor*float64(p.Values)), factor*p.Seconds
	return p
}

// Beginning is the time of a fit besides its values: it reads a table of some rows, compiles the kernel and writes the model.
func Beginning(rows int) time.Duration {
	return 6*time.Millisecond + time.Duration(rows)*5*time.Microsecond
}

// GradientTime returns about how long a value with gradient of all rows of the job takes on b, 0 if unknown.
func (j *Job) GradientTime(b device.Backend) time.Duration {
	return device.GradientTime(j.backend(b), j.workload())
}

// unknownTime is the work of a value with gradient whose time is not known, in seconds. It is the same for all rows.
const unknownTime = 1

// Steps returns what the steps of a fit are expected to take on b: tuning, which takes these parts, then standard errors and
// scores, then the posterior. Robust fits tune several times.
func (j *Job) Steps(b device.Backend, parts []Part) []float64 {
	steps := make([]float64, 3)
	one := cmp.Or(j.GradientTime(b).Seconds(), unknownTime)
	for _, part := range parts {
		steps[0] += cmp.Or(part.Seconds, valueShare*float64(part.Values)*one)
	}
	if j.Options.Robust {
		steps[0] *= 3
	}
	steps[1] = 3 * one
	if j.Options.StdErrors {
		steps[1] += 2 * float64(j.Params.NumFree()) * one
	}
	switch j.Options.Posterior {
	case "":
	case problem.HMC: // a draw takes several gradients
		steps[2] = 6 * float64(j.Options.Chains()*(j.Options.Warmup()+j.Options.Draws())) * one
	default:
		steps[2] = 300 * one
	}
	return steps
}

// valueShare is the mean cost of a value of a descent as a share of a value with gradient, which some do without.
const valueShare = 0.7

// Forecast returns what stages of a fit of the job are expected to take on b.
func (j *Job) Forecast(b device.Backend, stages []hyperopt.Expectation) Part {
	part, w, all := Part{Kernel: j.KernelText()}, j.workload(), j.GradientTime(b).Seconds()
	for _, s := range stages {
		one := all * float64(s.Rows) / float64(max(1, j.N()))
		w.N = s.Rows
		if on := device.Suiting(b, w); j.Experts == nil && on.Capabilities().Method == device.DenseName {
			one = device.GradientTime(on, w).Seconds()
		}
		part.Values, part.Rows = part.Values+s.Values, max(part.Rows, s.Rows)
		part.Seconds += valueShare * float64(s.Values) * one
	}
	return part
}

// differencesShare is the share that each parameter adds to the time of a fit by the filter, whose Hessians are differences of gradients, one for
// each: fits of 600 to 5,000 rows with 5 to 14 parameters take 2.5 to 8 times as long as their values.
const differencesShare = 0.45

// Alone returns what a fit of the kernel is expected to take on b.
func (j *Job) Alone(b device.Backend) Part {
	part := j.Forecast(b, j.Expected())
	if j.backend(b).Capabilities().Method == markov.Name {
		part.Seconds *= 1 + differencesShare*float64(j.Params.NumFree())
	}
	return part
}

// Descent returns the stage of a descent over all rows from the optimum of another model.
func (j *Job) Descent() []hyperopt.Expectation {
	return hyperopt.Expected(hyperopt.Settings{Coarse: hyperopt.CoarseOff}, j.N(), j.Params.NumFree())
}
