// Package devices opens the devices that the flags of a command ask for, and says
// which they are, why, and what a job needs of them. All that commands want of
// package device is here.
package devices

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/spf13/pflag"

	"gpfit"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cpu"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/gp"
	"gpfit/kernel"
)

// Choose says what there is, and which device would be taken.
func Choose(ctx context.Context, name string) (device.Choice, error) {
	return device.Find(ctx, gpfit.Drivers()).Choose(name)
}

// CPU describes the processor.
func CPU() string { return cpu.Driver{}.Probe(context.Background())[0].Detail }

// Flags say where to compute and how to talk.
type Flags struct {
	Device, Fallback string
	JSON, Quiet      bool
	threads          int
}

// Add declares the flags.
func (f *Flags) Add(s *pflag.FlagSet) {
	s.StringVar(&f.Device, "device", "auto", "where to compute: auto, a name from 'gpfit devices', or several with commas")
	flags.Completions(s, "device", "auto", "cpu")
	s.StringVar(&f.Fallback, "fallback", "", "`DEVICE` to take where --device cannot be had, is lost or too small")
	s.IntVar(&f.threads, "threads", 0, fmt.Sprintf("CPU threads, at most %d (default: all)", device.MaxThreads))
	s.BoolVar(&f.JSON, "json", false, "print one JSON object instead of text")
	s.BoolVar(&f.Quiet, "quiet", false, "no progress and no notes on standard error, only warnings and errors")
}

// CheckThreads finds a mistake in --threads before any work.
func (f *Flags) CheckThreads() error {
	if f.threads < 0 || f.threads > device.MaxThreads {
		return exit.Usagef("--threads %d: must be from 0 to %d", f.threads, device.MaxThreads)
	}
	return nil
}

// request is what the flags ask for.
func (f *Flags) request() gpfit.Devices {
	return gpfit.Devices{Name: f.Device, Fallback: f.Fallback, Threads: f.threads}
}

// Open opens the devices of the flags for a job of n points (0 if that does not
// matter) and the kernel prog (nil likewise), or with one only the first of them,
// and says which and why.
func (f *Flags) Open(ctx context.Context, msg *messages.Writer, n int, prog *kernel.Program, one bool) (*gpfit.OpenDevices, error) {
	if err := f.CheckThreads(); err != nil {
		return nil, err
	}
	if f.threads > 0 {
		runtime.GOMAXPROCS(f.threads)
	}
	o, err := f.request().Open(ctx, n, prog)
	if err != nil {
		return nil, err
	}
	if o.Warning != "" {
		msg.Warn(o.Warning)
	}
	for _, b := range o.Backends {
		info := b.Info()
		msg.Note("device %s: %s (%s)", info.Name, info.Description, o.Choice.Reason)
	}
	if one {
		o.KeepFirst()
	}
	return o, nil
}

// Reopen returns the function that opens the fallback device in mid-job, nil if
// there is none.
func (f *Flags) Reopen() func(ctx context.Context) (device.Backend, error) {
	return f.request().OpenFallback()
}

// OpenFor is Open for a fit. It says what that needs, and refuses it if a device
// has too little memory, unless it may move to a fallback.
func (f *Flags) OpenFor(ctx context.Context, msg *messages.Writer, job *fit.Job, one bool) (*gpfit.OpenDevices, error) {
	o, err := f.Open(ctx, msg, job.N(), job.Program(), one)
	if err != nil {
		return nil, err
	}
	NotePlan(msg, job.Plan(o.Backends[0]))
	for _, b := range o.Backends {
		if err := job.CheckMemory(b); err != nil && f.Fallback == "" {
			o.Close()
			return nil, err
		}
	}
	return o, nil
}

// Condition puts a model on a device. The caller calls the function returned when
// it is done with the posterior.
func (f *Flags) Condition(ctx context.Context, msg *messages.Writer, m *gp.Model) (*gp.Posterior, func(), error) {
	prog, err := m.Program()
	if err != nil {
		return nil, nil, err
	}
	o, err := f.Open(ctx, msg, m.N(), prog, true)
	if err != nil {
		return nil, nil, err
	}
	b := o.Backends[0]
	NotePlan(msg, b.Plan(m.N(), len(m.Columns)))
	p, err := m.Condition(ctx, b)
	if err != nil {
		o.Close()
		return nil, nil, err
	}
	p.Workspace().OnProgress(msg.Progress)
	return p, func() {
		_ = p.Close()
		o.Close()
	}, nil
}

// NotePlan says what a large job needs before it begins.
func NotePlan(msg *messages.Writer, plan device.Plan) {
	const large = 4000
	if plan.N < large {
		return
	}
	msg.Note("n = %d: %s of memory, about %s for each value with gradient", plan.N, device.FormatBytes(plan.HostBytes()+plan.DeviceBytes()), plan.GradientTime().Round(100*time.Millisecond))
}

// Calibrate measures from which size on the GPU that is called name pays, and
// says so.
func Calibrate(ctx context.Context, name string) (string, error) {
	found := device.Find(ctx, gpfit.Drivers())
	b, _, err := found.Open(ctx, device.Request{Device: name})
	if err != nil {
		return "", err
	}
	defer b[0].Close()
	name = b[0].Info().Name
	if b[0].Info().Host {
		return "nothing to calibrate: there is no GPU that can be used", nil
	}
	n, err := found.Crossover(ctx, device.NewCrossover().Renew, name, b[0])
	if err != nil {
		return "", err
	}
	if n == device.NeverPays {
		return name + " was not faster than the CPU at any size tried", nil
	}
	return fmt.Sprintf("%s pays from n = %d on", name, n), nil
}
