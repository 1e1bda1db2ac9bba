package mpi

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gpfit/device"
	"gpfit/internal/hosted"
	"gpfit/internal/mpi/engine"
	"gpfit/internal/mpi/message"
	"gpfit/kernel"
)

// Name is the name of the method.
const Name = "mpi"

// Method computes by one factorization of a matrix in parts, which the ranks of the program hold.
type Method struct{}

// Name returns [Name].
func (Method) Name() string { return Name }

// About implements [device.Method].
func (Method) About() string {
	return "one factorization over the processes that mpirun or srun has started"
}

// Exact returns true.
func (Method) Exact() bool { return true }

// MaxRows returns what fits in so many memories as there are ranks.
func (Method) MaxRows(hostFree int64) int {
	return int(float64(device.Dense{}.MaxRows(hostFree)) * math.Sqrt(float64(message.Launched().Size)))
}

// Backends implements [device.Method]. It opens the libraries only if there are other ranks, which wait for that.
func (m Method) Backends(devices []device.Device) ([]device.Backend, error) {
	shape, err := engine.ShapeFor(message.Launched().Size)
	near := 1
	if err == nil && message.Launched().Size > 1 {
		var g *ranks
		if g, err = openRanks(); err == nil {
			near = g.world.Near
		}
	}
	if err != nil {
		return nil, unavailable(err)
	}
	return hosted.Backends(Name, devices, func(b hosted.Base) device.Backend { return backend{b, shape, near} })
}

// Describe says which libraries the method finds on this machine, or which it lacks.
func Describe() string {
	l, err := message.Load()
	if err != nil {
		return err.Error()
	}
	return l.Version + "; " + engine.Describe(l)
}

// unavailable is the error of libraries that cannot be opened.
func unavailable(err error) error {
	return &device.UnavailableError{Method: Name, Reason: err.Error()}
}

// backend is the method on the ranks of the program.
type backend struct {
	hosted.Base
	shape engine.Shape
	// near is the number of ranks on this node.
	near int
}

// Info implements [device.Backend].
func (b backend) Info() device.Info {
	info := b.Base.Info()
	if ranks := b.ranks(); ranks > 1 {
		info.Description = fmt.Sprintf("%d ranks of MPI, each with a part of %s", ranks, info.Description)
	}
	if g := opened.Load(); g != nil && g.slow.Load() {
		info.Description += ", with the reference BLAS, which takes many times as long as OpenBLAS"
	}
	return info
}

func (b backend) ranks() int { return b.shape.Rows * b.shape.Cols }

// efficiency is the rate of a rank as a share of the rate of the method dense on its threads. Messages take time besides.
const efficiency = 0.6

// Plan implements [device.Backend], with the memory of the ranks on this node. One rank takes no less than the method
// dense, so that nobody gets this method who has not asked for it.
func (b backend) Plan(w device.Workload) device.Plan {
	bytes, rate := 8*numbersFor(b.shape, w.N, w.D)*int64(b.near), 0.0
	if d, ok := b.Host.(device.DenseDevice); ok {
		dense := d.Plan(w.N, w.D)
		rate = efficiency * float64(b.ranks()) * dense.FlopRate
		if b.ranks() == 1 {
			bytes = max(bytes, dense.HostBytes())
		}
	}
	p := device.MatrixPlan(w.N, w.D, "", bytes)
	p.FlopRate = rate
	if ranks := b.ranks(); ranks > 1 {
		p.Needs[0].What = fmt.Sprintf("the parts of a %d×%d matrix of 8-byte numbers on %d of %d ranks, and working space", w.N, w.N, b.near, ranks)
	}
	return p
}

// Supports implements [device.Backend].
func (b backend) Supports(w device.Workload) error {
	what := ""
	switch {
	case w.Blocks != nil:
		what = "blocks of the inverse, which folds and places of several rows need; the method dense does"
	case w.Diagonal:
		what = "leave-one-out; the method dense does"
	case w.Factor:
		what = "a factor of the covariance matrix; the method dense does"
	case w.N > 0 && !b.shape.Fits(w.N):
		what = fmt.Sprintf("%d rows on %d ranks, because ScaLAPACK takes at most 2³¹−1 numbers of a rank: start at least %d ranks", w.N, b.ranks(), b.shape.RanksFor(w.N))
	case w.Program != nil && b.ranks() > 1:
		return portable(w.Program)
	}
	if what != "" {
		return &device.UnsupportedError{Method: Name, What: what}
	}
	return nil
}

// portable returns an [*device.UnsupportedKernelError] for a program that other ranks cannot make of its text: one with a
// family that is written in Go.
func portable(prog *kernel.Program) error {
	own, err := compile(prog.Text, prog.Labels)
	if err == nil && !(own.Same(prog) && slices.Equal(own.Names(), prog.Names())) {
		err = errors.New("its text stands for another function")
	}
	if err != nil {
		return &device.UnsupportedKernelError{Method: Name, Kernel: prog.Text, Err: fmt.Errorf("other ranks cannot read it: %w", err)}
	}
	return nil
}

// Machines returns how many machines with so many bytes of free memory each have room for n rows of d columns, and the plan of one
// value with gradient on all of them if each has the rate of host; 0 means more than a thousand.
func Machines(host device.DenseDevice, n, d int, free int64) (machines int, p device.Plan) {
	const most = 1000
	for m := 1; m <= most; m++ {
		shape, err := engine.ShapeFor(m)
		if err != nil {
			return 0, p
		}
		if bytes := 8 * numbersFor(shape, n, d); bytes <= free/10*9 {
			p = device.MatrixPlan(n, d, "", bytes)
			p.FlopRate = efficiency * float64(m) * host.Plan(n, d).FlopRate
			return m, p
		}
	}
	return 0, p
}
