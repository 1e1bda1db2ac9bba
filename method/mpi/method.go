package mpi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"gpfit/device"
	"gpfit/kernel"
	"gpfit/method/internal/hostmethod"
	"gpfit/method/mpi/engine"
	"gpfit/method/mpi/message"
	"gpfit/method/mpi/part"
)

// Name is the name of the method.
const Name = "mpi"

// Method computes by one factorization of a matrix in parts, which the ranks of the program hold.
type Method struct{}

// About implements [device.Method].
func (Method) About() device.About {
	return device.About{
		Name: Name, Exact: true, Text: "one factorization over the processes that mpirun or srun has started",
		Help: "one factorization over the processes that mpirun or srun has started",
	}
}

// MaxRows returns as many rows as the ranks hold together, √R times as many as one if there are R.
func (Method) MaxRows(hostFree int64) int {
	return int(float64(device.Dense{}.MaxRows(hostFree)) * math.Sqrt(float64(message.Launched().Size)))
}

// Backends implements [device.Method]. It opens the libraries only if there are other ranks, which wait for that.
func (m Method) Backends(devices []device.Device) ([]device.Backend, error) {
	shape, err := part.ShapeFor(message.Launched().Size)
	near := 1
	if err == nil && message.Launched().Size > 1 {
		var g *ranks
		if g, err = openEngine(); err == nil {
			near = g.world.Near
		}
	}
	if err != nil {
		return nil, unavailable(err)
	}
	return hostmethod.Backends(Name, devices, func(b hostmethod.Base) device.Backend { return backend{b, shape, near} })
}

// Describe says which libraries the method finds on this machine, or which it lacks.
func Describe() string {
	l, err := message.Load()
	if err != nil {
		return err.Error()
	}
	reference.Store(engine.Slow(l))
	return l.Version + "; " + engine.Describe(l)
}

// backend is the method on the ranks of the program.
type backend struct {
	hostmethod.Base
	shape part.Shape
	// near is the number of ranks on this node.
	near int
}

// Info implements [device.Backend].
func (b backend) Info() device.Info {
	info := b.Base.Info()
	if ranks := b.ranks(); ranks > 1 {
		info.Description = fmt.Sprintf("%d ranks of MPI, each with a part of %s", ranks, info.Description)
	}
	if opened.Load() != nil && slow() {
		info.Description += ", with the reference BLAS, which takes many times as long as OpenBLAS"
	}
	return info
}

func (b backend) ranks() int { return b.shape.Rows * b.shape.Cols }

// reference says that [Describe] found the reference BLAS, whose rate is the share referenceRate of another's.
var reference atomic.Bool

const referenceRate = 0.1

// slow reports whether the reference BLAS computes the products, as far as that is known.
func slow() bool {
	if g := opened.Load(); g != nil {
		return g.slow.Load()
	}
	return reference.Load()
}

// efficiency is the rate of a rank as a share of the rate of the method dense on its threads. Messages take time besides.
const efficiency = 0.6

// Plan implements [device.Backend], with the memory of the ranks on this node. One rank takes no less than the method
// dense, so that nobody gets this method who has not asked for it.
func (b backend) Plan(w device.Workload) device.Plan {
	bytes, rate := 8*numbersFor(b.shape, w.N, w.D)*int64(b.near), 0.0
	if d, ok := b.Host.(device.DenseDevice); ok {
		dense := d.Plan(w.N, w.D)
		rate = efficiency * float64(b.ranks()) * dense.FlopRate
		if slow() {
			rate *= referenceRate
		}
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
	if w.N > 0 && !b.shape.Fits(w.N) {
		what := fmt.Sprintf("%d rows on %d ranks, because ScaLAPACK takes at most 2³¹−1 numbers of a rank: start at least %d ranks", w.N, b.ranks(), b.shape.RanksFor(w.N))
		return &device.UnsupportedError{Method: Name, What: what}
	}
	return supports(w, b.ranks())
}

// NewWorkspace implements [device.Backend].
func (b backend) NewWorkspace(ctx context.Context, x *kernel.Points) (device.Workspace, error) {
	w := device.Workload{N: x.N, D: x.D}
	plan := b.Plan(w)
	if err := errors.Join(b.Supports(w), b.CheckPoints(ctx, x, plan)); err != nil {
		return nil, err
	}
	s, err := newWorkspace(b.Host, x, plan)
	if err != nil {
		return nil, err
	}
	return struct{ allWorkspace }{s}, nil
}

// allWorkspace has the capabilities of a workspace.
type allWorkspace interface {
	device.Workspace
	device.InverseDiagonal
	device.JointCovariance
	device.DerivativeProducts
}

// Machines returns how many machines, with free bytes of memory each, hold n rows of d columns, and the plan of one
// value with gradient on all of them if each has the rate of host; 0 means more than a thousand.
func Machines(host device.DenseDevice, n, d int, free int64) (machines int, p device.Plan) {
	const most = 1000
	for ranks := 1; ranks <= most; ranks++ {
		s, err := part.ShapeFor(ranks)
		if err != nil {
			return 0, p
		}
		if bytes := 8 * numbersFor(s, n, d); bytes <= free/10*9 {
			p := device.MatrixPlan(n, d, "", bytes)
			p.FlopRate = efficiency * float64(ranks) * host.Plan(n, d).FlopRate
			return ranks, p
		}
	}
	return 0, p
}
