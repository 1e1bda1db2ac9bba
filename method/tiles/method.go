package tiles

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"

	"gpfit/device"
	"gpfit/device/tiling"
	"gpfit/internal/each"
	"gpfit/kernel"
	"gpfit/method/internal/hostmethod"
)

// Name is the name of the method.
const Name = "tiles"

// Method computes with the lower half of Σ in tiles, on the devices of a workspace together.
type Method struct {
	// Order is the order of a tile, a multiple of [tiling.Unit]; 0 means the best one for the number of rows.
	Order int
	// room, for tests, replaces the memory that is free.
	room func() free
}

// About implements [device.Method].
func (Method) About() device.About {
	return device.About{
		Name: Name, Exact: true, Text: "half of the covariance matrix in tiles, in the memory of the host and of one or several cards",
		Help: "half of the matrix in tiles over the memory of the host and of cards",
	}
}

// MaxRows returns the number of rows from which half a matrix of float64 numbers does not fit: on cards of any size, the
// host, or the folder of [Scratch].
func (Method) MaxRows(hostFree int64) int {
	const largest = 1 << 41
	return int(math.Sqrt(max(largest, 16*float64(hostFree), float64(available(os.Getenv(Scratch)))) / 4))
}

// Backends implements [device.Method]: one backend for all devices, which must be of one kind, or one for each
// host. The only device of a backend may make predictions of means.
func (m Method) Backends(devices []device.Device) (out []device.Backend, err error) {
	found, err := m.divide(devices)
	for _, b := range found {
		if means, ok := b.devices[0].(device.MeanPredictor); ok && len(b.devices) == 1 {
			out = append(out, withMeans{b, means})
		} else {
			out = append(out, b)
		}
	}
	return out, err
}

// divide returns the backends on devices.
func (m Method) divide(devices []device.Device) (out []backend, err error) {
	for _, d := range devices {
		t, ok := d.(tiling.Device)
		if !ok {
			return nil, &device.UnavailableError{Device: d.Info().Name, Reason: "it cannot compute with tiles, which the method " + Name + " needs"}
		}
		if kind := device.Kind(d.Info().Name); kind != device.Kind(devices[0].Info().Name) {
			return nil, &device.UnavailableError{Device: d.Info().Name, Reason: "the method " + Name + " takes devices of one kind"}
		}
		if len(out) == 0 || d.Info().Host {
			out = append(out, backend{method: m})
		}
		last := &out[len(out)-1]
		last.devices = append(last.devices, t)
	}
	return out, nil
}

// errNoFile says that a file of tiles would not help.
var errNoFile = errors.New("tiles: no file")

// backend is the method on its devices.
type backend struct {
	method  Method
	devices []tiling.Device
}

// withMeans is a backend on a device that predicts means without a workspace.
type withMeans struct {
	backend
	device.MeanPredictor
}

// NewWorkspace implements [device.Backend].
func (b withMeans) NewWorkspace(ctx context.Context, x *kernel.Points) (device.Workspace, error) {
	return b.open(ctx, x, b.MeanPredictor)
}

// Info implements [device.Backend]: several devices have the names of all, and their memory together.
func (b backend) Info() device.Info {
	info := b.devices[0].Info()
	names := []string{info.Name}
	for _, d := range b.devices[1:] {
		i := d.Info()
		names = append(names, i.Name)
		info.MemoryFree += i.MemoryFree
	}
	if len(names) > 1 {
		info.Name = strings.Join(names, ",")
		info.Description = fmt.Sprintf("%d devices, the first %s", len(names), info.Description)
	}
	return info
}

// Capabilities implements [device.Backend].
func (b backend) Capabilities() device.Capabilities {
	c := device.Capabilities{Method: Name, Exact: true, Precision: hostmethod.Precision}
	for _, d := range b.devices {
		c.Devices = append(c.Devices, d)
	}
	return c
}

// Supports implements [device.Backend].
func (b backend) Supports(w device.Workload) error {
	if err := limits.Refuse(w); err != nil {
		return err
	}
	for _, d := range b.devices {
		if dense, ok := d.(device.DenseDevice); ok && w.Program != nil {
			if err := dense.Supports(w.Program); err != nil {
				return err
			}
		}
	}
	return nil
}

// Plan implements [device.Backend].
func (b backend) Plan(w device.Workload) device.Plan {
	if w.N == 0 {
		return device.Plan{}
	}
	return b.plan(w.D, b.arrange(w.N, w.D))
}

// arrange divides a matrix over the devices, by their free memory.
func (b backend) arrange(n, d int) arrangement {
	room := freeMemory(b.devices, os.Getenv(Scratch))
	if b.method.room != nil {
		room = b.method.room()
	}
	return arrange(n, d, b.method.Order, b.devices, room)
}

// InFile returns the plan of a workload whose tiles are in a file, and the size of the file.
func InFile(devices []device.Device, w device.Workload) (plan device.Plan, bytes int64, err error) {
	found, err := Method{}.divide(devices)
	if err != nil || len(found) == 0 || w.N == 0 {
		return plan, 0, errors.Join(err, errNoFile)
	}
	b := found[0]
	if err := b.Supports(w); err != nil {
		return plan, 0, err
	}
	room := freeMemory(b.devices, os.TempDir())
	room.host = 0
	a := arrange(w.N, w.D, 0, b.devices, room)
	plan = b.plan(w.D, a)
	if a.folder == "" || device.Room(b, plan) != nil {
		return plan, 0, errNoFile
	}
	return plan, a.fileBytes(), nil
}

// plan returns the memory and the work of an arrangement.
func (b backend) plan(d int, a arrangement) device.Plan {
	padded := float64(a.side * a.order)
	p := device.Plan{N: a.n, D: d, Needs: a.needs, FlopsValue: padded * padded * padded / 3, FlopsGradient: padded * padded * padded}
	for _, on := range b.devices {
		dense, ok := on.(device.DenseDevice)
		if !ok {
			return p
		}
		rate := dense.Plan(a.n, d).FlopRate
		if rate == 0 {
			p.FlopRate = 0
			return p
		}
		p.FlopRate += rate
	}
	if copying := a.copyTime(); p.FlopRate > 0 && copying > p.FlopsGradient/p.FlopRate {
		p.FlopRate = p.FlopsGradient / copying
	}
	return p
}

// NewWorkspace implements [device.Backend].
func (b backend) NewWorkspace(ctx context.Context, x *kernel.Points) (device.Workspace, error) {
	return b.open(ctx, x, nil)
}

// open makes a workspace, which predicts only means by means if that is not nil.
func (b backend) open(ctx context.Context, x *kernel.Points, means device.MeanPredictor) (device.Workspace, error) {
	if err := errors.Join(ctx.Err(), device.CheckInputs(x)); err != nil {
		return nil, err
	}
	a := b.arrange(x.N, x.D)
	plan := b.plan(x.D, a)
	if err := device.Room(b, plan); err != nil {
		return nil, err
	}
	if err := checkFolder(a, plan); err != nil {
		return nil, err
	}
	return newWorkspace(ctx, x, a, b.devices, means)
}

// checkFolder returns an error if the folder of an arrangement is none, or has too little space for the file.
func checkFolder(a arrangement, p device.Plan) error {
	if a.folder == "" {
		return nil
	}
	if info, err := os.Stat(a.folder); err != nil || !info.IsDir() {
		return &device.UnavailableError{Method: Name, Reason: fmt.Sprintf("%s=%s is no folder", Scratch, a.folder)}
	}
	if free := available(a.folder); free < a.fileBytes() {
		return &device.MemoryError{Plan: p, Where: "disk", Need: a.fileBytes(), Free: free, What: "the file of tiles in " + a.folder}
	}
	return nil
}

// Close implements [device.Backend].
func (b backend) Close() error {
	errs := each.Of(b.devices, func(d tiling.Device) error { return d.Close() })
	return errors.Join(errs...)
}
