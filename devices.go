package gpfit

import (
	"context"
	"fmt"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/device/cuda"
	"gpfit/device/textbook"
	"gpfit/fit/problem"
	"gpfit/fit/tuning"
	"gpfit/gp"
	"gpfit/method"
	"gpfit/method/experts"
	"gpfit/method/grid"
)

// Drivers returns the drivers of all kinds of devices that gpfit supports, in the
// order in which the name auto tries them: GPUs first. The last one, gonum, computes by plain
// formulas to check the others, and auto never takes it.
func Drivers() []device.Driver {
	return []device.Driver{cuda.Driver{}, cpu.Driver{}, textbook.Driver()}
}

// Methods returns the methods that gpfit knows, the default first. [Devices] chooses
// among the exact ones.
func Methods() []device.Method { return method.All() }

// Devices selects the devices to compute on. The zero value takes a GPU if one passes
// its self-test and is faster at the size of the table, and the CPU otherwise.
type Devices struct {
	// Name is auto (or empty), cpu, gonum, cuda, a device such as cuda:0, or several devices
	// separated by commas, over which a fit spreads its restarts.
	Name string
	// Fallback is the device to use if the device Name cannot be opened, fails, or runs out
	// of memory during a fit; empty means none.
	Fallback string
	// Method is the name of the method, chosen or empty for the exact method with the
	// fewest operations. Local experts, which [Options] request, have the method experts.
	Method string
	// Threads is the number of threads on the CPU; 0 means all.
	Threads int
	// Parts is the number of parts of the work, such as starts and folds, for which a GPU has lanes if one part does not keep
	// it busy: each of OpenDevices.Backends then is a device or a lane. 0 means 1.
	Parts int
	// Events are functions that a fit calls while it computes.
	Events problem.Events
}

// OpenDevices are devices that are ready to compute.
type OpenDevices struct {
	Backends []device.Backend
	// Choice names the devices and the reason for choosing them.
	Choice device.Choice
	// Warning reports that the devices are the fallback; empty if they are not.
	Warning string
}

// Open opens the devices for a workload, as far as it is known. Errors:
// [*device.UnavailableError], [*device.UnsupportedKernelError].
func (d Devices) Open(ctx context.Context, w device.Workload) (*OpenDevices, error) {
	backends, choice, err := device.Dispatch(ctx, device.Request{
		Device: d.Name, Method: d.Method, Workload: w, Parts: d.Parts, Fallback: d.Fallback, Options: d.options(), Crossover: device.NewCrossover(),
	}, Drivers(), Methods()...)
	if err != nil {
		return nil, err
	}
	o := &OpenDevices{Backends: backends, Choice: choice}
	if choice.FellBack {
		o.Warning = fmt.Sprintf("device %s is not available: using the fallback %s (%s)", d.Name, choice.Device, choice.Reason)
	}
	return o, nil
}

// checkModel returns a [*problem.OptionError] if the method does not exist or does not suit a
// fitted model: local experts have a method of their own.
func (d Devices) checkModel(m *gp.Model) error {
	_, err := problem.FindMethod(d.Method, Methods(), problem.Options{Experts: m.State.Method})
	return err
}

// Workload returns what decides about devices and methods for predictions with a model. A factor in
// the model's file belongs to the dense method, which is then chosen unless Method names another one.
// It returns a [*problem.OptionError] if the method does not exist or does not suit the model.
func (d Devices) Workload(m *gp.Model) (device.Workload, error) {
	w, err := m.Workload()
	if err == nil {
		err = d.checkModel(m)
	}
	if err == nil && m.State.Method != "" { // the largest expert decides
		var p *experts.Partition
		if p, err = experts.Read(m.State); err == nil && len(p.Sizes) > 0 {
			w.N, w.Points = p.Largest(), nil
		}
	}
	w.Factor = m.HasFactor() && (d.Method == "" || d.Method == device.Chosen)
	return w, err
}

// OpenFallback returns a function for [problem.Events] that opens the fallback during a
// fit, or nil if there is no fallback.
func (d Devices) OpenFallback() func(ctx context.Context) (device.Backend, error) {
	if d.Fallback == "" {
		return nil
	}
	return func(ctx context.Context) (device.Backend, error) {
		backends, _, err := device.Dispatch(ctx, device.Request{Device: d.Fallback, Method: d.Method, Options: d.options()}, Drivers(), Methods()...)
		if err != nil {
			return nil, err
		}
		return backends[0], nil
	}
}

func (d Devices) options() device.Options { return device.Options{Threads: d.Threads} }

// CheckMemory returns a [*device.MemoryError] if one of the devices has too little memory
// for the job.
func (o *OpenDevices) CheckMemory(job *tuning.Job) error {
	for _, b := range o.Backends {
		if err := job.CheckMemory(b); err != nil {
			return method.Room(tuning.Workload(job), b, err)
		}
	}
	return nil
}

// nearlyFrom is the number of rows from which a grid with a few gaps is worth a word.
const nearlyFrom = 500

// NearlyGrid says that the rows of a job are nearly a grid, which would take far fewer operations, or returns "".
func (o *OpenDevices) NearlyGrid(job *tuning.Job) string {
	w := tuning.Workload(job)
	if w.Program == nil || w.Points == nil || w.N < nearlyFrom || w.NoiseByRow || device.DenseSize(device.For(o.Backends[0], w).Plan(w), w.N) < w.N*9/10 {
		return ""
	}
	return grid.Nearly(w.Program, w.Points)
}

// KeepFirst closes all devices but the first.
func (o *OpenDevices) KeepFirst() {
	(&OpenDevices{Backends: o.Backends[1:]}).Close()
	o.Backends = o.Backends[:1]
}

// Close closes the devices.
func (o *OpenDevices) Close() {
	for _, b := range o.Backends {
		_ = b.Close()
	}
}
