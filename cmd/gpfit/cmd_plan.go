package main

import (
	"errors"
	"slices"
	"time"

	"gpfit"
	"gpfit/cmd/gpfit/internal/cli"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/fit/tuning"
	"gpfit/method/mpi"
)

// planView says which methods can compute a job, and the cost of a value with gradient.
type planView struct {
	Type          string       `json:"type"`
	SchemaVersion int          `json:"schema_version"`
	Kernel        string       `json:"kernel"`
	N             int          `json:"n"`
	D             int          `json:"d"`
	DistinctRows  int          `json:"distinct_rows"`
	Reading       string       `json:"-"`
	Methods       []planMethod `json:"methods"`
	// Fit has the models of the fit, and Seconds is the time of all of them.
	Fit     []tuning.Part `json:"fit,omitempty"`
	Seconds float64       `json:"seconds,omitempty"`
	Total   string        `json:"-"`
}

// planMethod is a method on a device.
type planMethod struct {
	Method string `json:"method"`
	Device string `json:"device"`
	Exact  bool   `json:"exact"`
	Chosen bool   `json:"chosen"`
	// Bound is the wanted bound of the error of the NLML, in nats, of a method that is not exact but has one.
	Bound float64 `json:"bound,omitempty"`
	// Bytes is the memory of a fit. Operations and Seconds are the cost of a value with gradient; Seconds is 0 if it is unknown.
	Bytes      int64   `json:"bytes,omitempty"`
	Operations float64 `json:"operations,omitempty"`
	Seconds    float64 `json:"seconds,omitempty"`
	Time       string  `json:"-"`
	// Reason says why the method cannot compute the job.
	Reason string `json:"reason,omitempty"`
}

// Text returns the plan as text for people.
func (v *planView) Text() string { return view("plan", v) }

// plan reports which methods can compute a job, and what a whole fit is expected to take. It computes nothing.
func plan(c *cli.Command, opts problem.Options, whole bool) error {
	mpi.Describe() // its plan depends on the libraries
	data, err := c.Table(c.Args[0])
	if err != nil {
		return err
	}
	job, err := fit.Prepare(data, opts, c.Events())
	if err != nil {
		return err
	}
	c.Msg.Warn(job.Warnings()...)
	opened, err := c.OpenDevices(device.Workload{}, 0)
	if err != nil {
		return err
	}
	defer opened.Close()
	w := tuning.Workload(job)
	w.Factor = c.Output.SaveFactor
	v := &planView{Type: "plan", SchemaVersion: 1, Kernel: job.KernelText(), N: job.N(), D: job.D(), DistinctRows: len(job.Sample.Points.Places()), Reading: data.Reading.Text()}
	if opts.Auto() {
		v.Kernel = "chosen by the fit; each kernel has a method of its own, such as these for " + v.Kernel
		w.Program = job.Program()
	}
	info := opened.Backends[0].Info()
	for _, one := range device.Weigh(problem.MethodsOf(nil, gpfit.Methods(), opts), opened.Backends[0].Capabilities().Devices, w) {
		about := one.Method.About()
		m := planMethod{Method: about.Name, Device: info.Name, Exact: about.Exact, Chosen: one.Chosen}
		if asked := c.Compute.Method; asked != "" && asked != device.Chosen {
			m.Chosen = m.Method == asked
		}
		if about.Bounded && one.Err == nil {
			m.Bound = job.Tolerance()
		}
		if one.Plan.N > 0 {
			one.Plan = tuning.WholePlan(job, one.Plan, info)
			took := device.GradientTime(one.Backends[0], w)
			m.Bytes, m.Operations, m.Seconds, m.Time = one.Plan.HostBytes()+one.Plan.DeviceBytes(), one.Plan.FlopsGradient, took.Seconds(), shortly(took)
			if memory, ok := errors.AsType[*device.MemoryError](device.Room(one.Backends[0], one.Plan)); ok {
				m.Reason = "too large: " + device.FormatBytes(memory.Free) + " are free"
			}
		}
		if one.Err != nil {
			m.Reason = one.Err.Error()
		}
		m.Chosen = m.Chosen && m.Reason == ""
		v.Methods = append(v.Methods, m)
	}
	if whole && (opts.Auto() || slices.ContainsFunc(v.Methods, func(m planMethod) bool { return m.Chosen })) {
		v.Fit = fit.Expect(job, opened.Backends[0])
	}
	var sum time.Duration
	for _, part := range v.Fit {
		sum += part.Time()
	}
	if sum > 0 {
		sum += tuning.Beginning(v.N)
		v.Seconds, v.Total = sum.Seconds(), shortly(sum)
	}
	return c.Report(v)
}

// shortly returns a time as text, "" if it is not known.
func shortly(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d < time.Millisecond:
		return max(d, time.Microsecond).Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(10 * time.Microsecond).String()
	}
	return messages.Roughly(d)
}
