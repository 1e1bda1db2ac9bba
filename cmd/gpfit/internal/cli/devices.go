package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"gpfit"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/gp"
	"gpfit/internal/hostmem"
)

// devices turns the options into the library's.
func (c *Command) devices() gpfit.Devices {
	return gpfit.Devices{Name: c.Compute.Device, Method: c.Compute.Method, Fallback: c.Compute.Fallback, Threads: c.Compute.Threads}
}

// OpenDevices opens the devices of the options, and prints which and why, for a job with parts that can run at the same time; for
// none it opens only the first device. The job has the workload w, as far as it is known.
func (c *Command) OpenDevices(w device.Workload, parts int) (*gpfit.OpenDevices, error) {
	if c.Compute.Threads > 0 && c.kept.store == nil { // other commands of the process have a number of their own
		runtime.GOMAXPROCS(c.Compute.Threads)
	}
	devices := c.devices()
	devices.Parts = parts
	o, err := devices.Open(c.Ctx, w)
	if err != nil {
		return nil, err
	}
	if o.Warning != "" {
		c.Msg.Warn(o.Warning)
	}
	lanes := map[string]int{}
	for _, b := range o.Backends {
		lanes[b.Info().Name]++
	}
	for _, b := range o.Backends {
		info, times := b.Info(), ""
		if n := lanes[info.Name]; n > 1 {
			times = fmt.Sprintf(", %d lanes", n)
		}
		if lanes[info.Name] > 0 { // the first lane stands for all
			description, _, _ := strings.Cut(info.Description, ", "+runtime.GOOS+"/")
			c.Msg.Note("device %s%s: %s (%s)", info.Name, times, description, why(o.Choice))
		}
		lanes[info.Name] = 0
	}
	if parts == 0 {
		o.KeepFirst()
	}
	return o, nil
}

// why returns the reason of a choice in a few words. If there is no GPU, the drivers' long
// stories are left to gpfit devices.
func why(c device.Choice) string {
	usable := func(f device.Finding) bool { return f.Usable && !f.Host }
	if c.Asked == device.Auto && !slices.ContainsFunc(c.Findings, usable) {
		return "no GPU found; 'gpfit devices' says why"
	}
	return c.Reason
}

// OpenFor opens devices for a fit, or only the first if one is true, and prints what the fit
// needs. It returns an error if a device has too little memory and there is no fallback. Of several kernels,
// which may need less memory than the job's, each is checked when it is fitted.
func (c *Command) OpenFor(job *tuning.Job, kernels int, one bool) (*gpfit.OpenDevices, error) {
	w := tuning.Workload(job)
	if asked, _ := device.FindMethod(c.Compute.Method, gpfit.Methods()); kernels > 1 && asked == nil {
		w.Program = nil
	}
	w.Factor = c.Output.SaveFactor
	parts := tuning.Parts(job)
	if c.CrossValidate {
		parts = max(parts, cmp.Or(c.CrossValidation.Folds, problem.DefaultFolds))
	}
	if one {
		parts = 0
	}
	o, err := c.OpenDevices(w, parts)
	if err != nil {
		return nil, err
	}
	c.NotePlan(job.Plan(o.Backends[0]))
	if err := o.CheckMemory(job); err != nil && c.Compute.Fallback == "" && kernels <= 1 {
		o.Close()
		return nil, err
	}
	if nearly := o.NearlyGrid(job); nearly != "" && o.Warning == "" {
		c.Msg.Warn(nearly)
		o.Warning = nearly
	}
	return o, nil
}

// Condition conditions a model on its data, on a device. The caller calls the returned
// function when it is done with the posterior.
func (c *Command) Condition(m *gp.Model) (*gp.Posterior, func(), error) {
	return prepared(c, m, "posterior", func(b device.Backend, plan device.Plan) (*gp.Posterior, error) {
		c.NotePlan(plan)
		p, err := m.Condition(c.Ctx, b)
		if err == nil {
			p.Workspace().OnProgress(c.Msg.Progress)
		}
		return p, err
	})
}

// Mixture prepares a model to predict with at most limit draws of its parameters, on a
// device. The caller calls the returned function when it is done with them.
func (c *Command) Mixture(m *gp.Model, limit int) (*gp.Mixture, func(), error) {
	return prepared(c, m, fmt.Sprintf("%d draws", limit), func(b device.Backend, plan device.Plan) (*gp.Mixture, error) {
		c.NotePlan(plan)
		return gp.NewMixture(c.Ctx, m, b, limit)
	})
}

// Means prepares a model to predict only means, on a device. The caller calls the
// returned function when it is done with them.
func (c *Command) Means(m *gp.Model) (*gp.Posterior, func(), error) {
	return prepared(c, m, "means", func(b device.Backend, _ device.Plan) (*gp.Posterior, error) { return m.Means(c.Ctx, b) })
}

// opened is a predictor with its open device.
type opened[P io.Closer] struct {
	result  P
	devices *gpfit.OpenDevices
	bytes   int64
}

// Close implements [io.Closer].
func (o *opened[P]) Close() error {
	err := o.result.Close()
	o.devices.Close()
	return err
}

// prepared opens a device for a model and calls on with it and the plan of the model's covariance. The caller calls the returned
// function when it is done with the result; it closes result and device, unless the process keeps them for the next
// command. kind tells the ways to predict with one model apart.
func prepared[P io.Closer](c *Command, m *gp.Model, kind string, on func(device.Backend, device.Plan) (P, error)) (result P, done func(), err error) {
	key := fmt.Sprint(kind, c.kept.model, c.Target, c.Combine, c.devices())
	if o, ok := c.kept.store.Take(key).(*opened[P]); ok {
		if o.devices.Warning != "" {
			c.Msg.Warn(o.devices.Warning)
		}
		c.kept.using = append(c.kept.using, inUse{key, o, o.bytes})
		return o.result, func() {}, nil
	}
	w, err := c.devices().Workload(m)
	if err != nil {
		return result, nil, err
	}
	devices, err := c.OpenDevices(w, 0)
	if err != nil {
		return result, nil, err
	}
	if on := devices.Backends[0].Capabilities().Method; m.Approximation != nil && on == m.Approximation.Method {
		c.Msg.Note("method %s", m.Approximation.Text())
	}
	if w.State.Method != "" {
		w.N, w.Points = m.N(), m.Points()
	}
	plan := device.For(devices.Backends[0], w).Plan(w)
	if result, err = on(devices.Backends[0], plan); err != nil {
		devices.Close()
		return result, nil, err
	}
	o := &opened[P]{result, devices, plan.HostBytes() + plan.DeviceBytes()}
	if c.kept.model == 0 {
		return result, func() { _ = o.Close() }, nil
	}
	c.kept.using = append(c.kept.using, inUse{key, o, o.bytes})
	return result, func() {}, nil
}

// NotePlan prints the memory and time that a large job needs, and prepares the process for it.
func (c *Command) NotePlan(plan device.Plan) {
	const large, much = 4000, 1 << 30
	hostmem.Expect(plan.HostBytes())
	if bytes := plan.HostBytes() + plan.DeviceBytes(); plan.N >= large || bytes >= much {
		c.Msg.Note("n = %d: %s of memory, about %s for each value with gradient", plan.N, device.FormatBytes(bytes), plan.GradientTime().Round(100*time.Millisecond))
	}
}

// Events returns this program's messages about a fit, and its fallback device.
func (c *Command) Events() problem.Events {
	return problem.Events{OnProgress: c.Msg.Progress, OnFit: c.Msg.Fit, OnWarning: c.Msg.Say, Fallback: c.devices().OpenFallback()}
}

// OpenJob is a prepared job on open devices.
type OpenJob struct {
	*tuning.Job
	*gpfit.OpenDevices
}

// OpenJob reads the training table at path and prepares a job. It prints
// warnings, and opens its devices, or only the first if one is true. The caller closes the job.
func (c *Command) OpenJob(path string, opts problem.Options, events problem.Events, one bool) (*OpenJob, error) {
	data, err := c.Table(path)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(opts.Checkpoint); err == nil && info.Size() > 0 {
		c.Msg.Note("continuing from the checkpoint %s", opts.Checkpoint)
	}
	job, err := fit.Prepare(data, opts, events)
	if err != nil {
		return nil, err
	}
	if c.CrossValidate {
		if _, err := job.Sample.Divide(c.CrossValidation, job.Options.Blocks); err != nil {
			return nil, err
		}
	}
	c.Msg.Warn(job.Warnings()...)
	c.Msg.Objective = problem.ObjectiveLabel(job.ObjectiveName())
	opened, err := c.OpenFor(job, 1, one)
	if err != nil {
		return nil, err
	}
	return &OpenJob{job, opened}, nil
}

// Warned prints the warnings of a report, except the first ones, which were printed. It
// returns them with the warning about the devices, in the words of the command line.
func (c *Command) Warned(warnings []string, printed int, devices string) []string {
	c.Msg.Warn(warnings[printed:]...)
	if devices != "" { // it was printed when they were opened
		warnings = append([]string{devices}, warnings...)
	}
	messages.AllFlags(warnings)
	return warnings
}

// Within makes the fit that follows, with its cross-validation if there is one, the part of the work from one share to another. what
// names it, "" if it is all.
func (c *Command) Within(from, to float64, what string) {
	begun, cv := to, &c.CrossValidation // about where the folds begin
	switch {
	case c.CrossValidate && cv.Refit:
		begun = from + (to-from)/float64(1+cmp.Or(cv.Folds, problem.DefaultFolds))
	case c.CrossValidate:
		begun = from + 0.9*(to-from)
	}
	c.Msg.Within(from, begun, what)
	cv.OnFold = func(k, folds int) {
		c.Msg.Part(begun+(to-begun)*float64(k)/float64(folds), fmt.Sprintf("fold %d of %d", k+1, folds))
	}
}

// CrossValidated adds the scores that --scores cv requests to a report.
func (c *Command) CrossValidated(job *OpenJob, r *summary.Report) error {
	if !c.CrossValidate {
		return nil
	}
	scores, err := fit.CrossValidate(c.Ctx, job.Job, job.Backends[0], r.Parameters, c.CrossValidation, job.Backends[1:]...)
	if r.Scores.CrossValidation = scores; scores != nil {
		r.Warnings = append(r.Warnings, scores.Warnings...)
		r.Judge()
		c.Msg.Part(1, "")
	}
	if errors.Is(err, context.Canceled) {
		return &problem.CancelledError{Msg: "interrupted before the cross-validation was done"}
	}
	return err
}
