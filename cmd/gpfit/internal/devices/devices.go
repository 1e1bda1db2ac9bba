// Package devices opens the devices that a command's options name. It prints which
// devices these are and why, and what a job needs of them. It also compares devices
// with the CPU.
package devices

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"gpfit"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cpu"
	"gpfit/device"
	"gpfit/gp"
	"gpfit/internal/option"
	"gpfit/internal/tuning"
)

// Choose returns the devices found, and the one that gpfit would choose for name.
func Choose(ctx context.Context, name string) (device.Choice, error) {
	return device.Find(ctx, gpfit.Drivers(), gpfit.Methods()...).Choose(name)
}

// CPU returns a description of the processor.
func CPU() string { return cpu.Driver{}.Probe(context.Background())[0].Detail }

// request turns a command's options into the library's.
func request(c option.Compute) gpfit.Devices {
	return gpfit.Devices{Name: c.Device, Method: c.Method, Fallback: c.Fallback, Threads: c.Threads}
}

// Open opens the devices that c names, or only the first if one is true, and prints
// which and why. The job has the workload w, as far as it is known.
func Open(ctx context.Context, msg *messages.Writer, c option.Compute, w device.Workload, one bool) (*gpfit.OpenDevices, error) {
	if c.Threads > 0 {
		runtime.GOMAXPROCS(c.Threads)
	}
	o, err := request(c).Open(ctx, w)
	if err != nil {
		return nil, err
	}
	if o.Warning != "" {
		msg.Warn(o.Warning)
	}
	for _, b := range o.Backends {
		info := b.Info()
		description, _, _ := strings.Cut(info.Description, ", "+runtime.GOOS+"/")
		msg.Note("device %s: %s (%s)", info.Name, description, why(o.Choice))
	}
	if one {
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

// Reopen returns the function that opens the fallback device during a job, or nil if
// c has no fallback.
func Reopen(c option.Compute) func(ctx context.Context) (device.Backend, error) {
	return request(c).OpenFallback()
}

// OpenFor is Open for a fit. It prints what the fit needs, and returns an error if a
// device has too little memory and c has no fallback.
func OpenFor(ctx context.Context, msg *messages.Writer, c option.Compute, job *tuning.Job, one bool) (*gpfit.OpenDevices, error) {
	o, err := Open(ctx, msg, c, device.Workload{N: job.LargestMatrix(), D: job.D(), Program: job.Program()}, one)
	if err != nil {
		return nil, err
	}
	NotePlan(msg, job.Plan(o.Backends[0]))
	if err := o.CheckMemory(job); err != nil && c.Fallback == "" {
		o.Close()
		return nil, err
	}
	return o, nil
}

// Condition conditions a model on its data, on a device. The caller calls the returned
// function when it is done with the posterior.
func Condition(ctx context.Context, msg *messages.Writer, c option.Compute, m *gp.Model) (*gp.Posterior, func(), error) {
	return prepare(ctx, msg, c, m, func(b device.Backend) (*gp.Posterior, error) {
		NotePlan(msg, m.Backend(b).Plan(device.Workload{N: m.N(), D: len(m.Columns)}))
		p, err := m.Condition(ctx, b)
		if err == nil {
			p.Workspace().OnProgress(msg.Progress)
		}
		return p, err
	})
}

// Mixture prepares a model to predict with at most limit draws of its parameters, on a
// device. The caller calls the returned function when it is done with them.
func Mixture(ctx context.Context, msg *messages.Writer, c option.Compute, m *gp.Model, limit int) (*gp.Mixture, func(), error) {
	return prepare(ctx, msg, c, m, func(b device.Backend) (*gp.Mixture, error) {
		NotePlan(msg, m.Backend(b).Plan(device.Workload{N: m.N(), D: len(m.Columns)}))
		return m.Mixture(ctx, b, limit)
	})
}

// Means prepares a model to predict means alone, on a device. The caller calls the
// returned function when it is done with them.
func Means(ctx context.Context, msg *messages.Writer, c option.Compute, m *gp.Model) (*gp.Means, func(), error) {
	return prepare(ctx, msg, c, m, func(b device.Backend) (*gp.Means, error) { return m.Means(ctx, b) })
}

// prepare opens a device for a model and calls on with it. The caller calls the returned
// function when it is done with the result; it closes result and device.
func prepare[P io.Closer](ctx context.Context, msg *messages.Writer, c option.Compute, m *gp.Model, on func(device.Backend) (P, error)) (result P, done func(), err error) {
	prog, err := m.Program()
	if err == nil {
		err = request(c).CheckModel(m)
	}
	if err != nil {
		return result, nil, err
	}
	o, err := Open(ctx, msg, c, device.Workload{N: m.LargestMatrix(), D: len(m.Columns), Program: prog}, true)
	if err != nil {
		return result, nil, err
	}
	if result, err = on(o.Backends[0]); err != nil {
		o.Close()
		return result, nil, err
	}
	return result, func() {
		_ = result.Close()
		o.Close()
	}, nil
}

// NotePlan prints the memory and time that a large job needs.
func NotePlan(msg *messages.Writer, plan device.Plan) {
	const large = 4000
	if plan.N < large {
		return
	}
	msg.Note("n = %d: %s of memory, about %s for each value with gradient", plan.N, device.FormatBytes(plan.HostBytes()+plan.DeviceBytes()), plan.GradientTime().Round(100*time.Millisecond))
}

// Calibrate measures from which n on the GPU called name is faster than the CPU, and
// returns the result as a sentence.
func Calibrate(ctx context.Context, name string) (string, error) {
	found := device.Find(ctx, gpfit.Drivers(), gpfit.Methods()...)
	b, _, err := found.Open(ctx, device.Request{Device: name})
	if err != nil {
		return "", err
	}
	defer b[0].Close()
	name = b[0].Info().Name
	if b[0].Info().Host {
		return "nothing to calibrate: there is no usable GPU", nil
	}
	n, err := found.Crossover(ctx, device.NewCrossover().Renew, name, b[0])
	if err != nil {
		return "", err
	}
	if n == device.NeverPays {
		return name + " was not faster than the CPU at any size tried", nil
	}
	return fmt.Sprintf("%s is faster than the CPU from n = %d on", name, n), nil
}
