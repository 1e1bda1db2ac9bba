package device

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"gpfit/internal/hostmem"
	"gpfit/internal/suggest"
	"gpfit/internal/textform"
	"gpfit/kernel"
)

// Method is a way to compute likelihoods, gradients and predictions from points, a
// covariance function and its parameters. A program passes the list of its methods to
// [Find]; there is no global registry.
type Method interface {
	// About says what the method is.
	About() About
	// MaxRows returns the number of rows from which no machine has enough memory for the method,
	// given the host's free memory in bytes; 0 means no limit. Readers of tables stop there.
	MaxRows(hostFree int64) int
	// Backends returns the backends of the method on opened devices, which they close: one
	// for each device, or one for several if the method distributes a matrix. It allocates
	// nothing, so that the plans of several methods can be compared. Errors are
	// [*UnavailableError] for a device that the method cannot use.
	Backends(devices []Device) ([]Backend, error)
}

// About says what a method is.
type About struct {
	// Name is the name of the method for --method, such as "dense".
	Name string
	// Text describes the method in a few words, and Help in a help text, after its name.
	Text, Help string
	// Exact reports whether rounding is the only approximation. Other methods that are not Bounded are used
	// only if the user asks for them.
	Exact bool
	// Bounded means that the method is not exact, but bounds its error; it is chosen unasked where rules of Weigh allow.
	Bounded bool
}

// Choosable reports whether the name [Chosen] may stand for the method.
func (a About) Choosable() bool { return a.Exact || a.Bounded }

// DefaultTolerance is the bound of the error of a value, in nats, that [Workload.Tolerance] 0 stands for.
const DefaultTolerance = 1e-3

// Backend is a method on its devices. It is safe for concurrent use.
type Backend interface {
	// Info returns a description of the device or of all devices together.
	Info() Info
	// Capabilities returns the capabilities of the method on these devices.
	Capabilities() Capabilities
	// Plan returns the memory and work of a workload.
	Plan(w Workload) Plan
	// Supports returns an [*UnsupportedKernelError] or an [*UnsupportedError] if the
	// method cannot compute a workload on these devices, as far as it is known. Call it
	// before making a workspace; a workspace returns the same error.
	Supports(w Workload) error
	// NewWorkspace checks the plan against the free memory and then allocates. It
	// keeps x without copying it, so x must not change. Errors are [*MemoryError],
	// [*NonFiniteError] and [*UnavailableError].
	NewWorkspace(ctx context.Context, x *kernel.Points) (Workspace, error)
	// Close releases the devices.
	Close() error
}

// Workload describes the evaluations of a job. A method plans with the part that it needs:
// [Dense] with N and D, others with the structure of the points or the program, too.
type Workload struct {
	// N and D are the numbers of points and columns; 0 means unknown.
	N, D int
	// Points are the points, and Program is the covariance function; nil means unknown.
	Points  *kernel.Points
	Program *kernel.Program
	// NoiseByRow means that each point has a noise variance of its own.
	NoiseByRow bool
	// Diagonal means that the adjoints of the objective have a diagonal middle term, as
	// the adjoints of leave-one-out have ([Adjoint]). Blocks are the ends of the
	// blocks if they have a block-diagonal one ([BlockInverse]).
	Diagonal bool
	Blocks   []int
	// Factor means that the job reads or writes the Cholesky factor ([FactorStore]).
	Factor bool
	// Tolerance is the wanted bound of the error of a value in nats, for methods that are not exact; 0 means their usual one.
	Tolerance float64
	// State belongs to a fitted model.
	State State
}

// State holds the data that a method keeps with a fitted model, so that it computes with the model's rows as it did in the fit;
// the zero value for a method that needs nothing. [Chosen] then stands for this method, and its backends have a method
// For (see [For]) that reads the state.
type State struct {
	// Method is the name of the method, and Text is JSON of its own.
	Method, Text string
}

// Capabilities are the properties on which a caller may rely.
type Capabilities struct {
	// Method is the method's name.
	Method string
	// Exact is the same as in [About]. Log-determinants then have no standard error.
	Exact bool
	// Precision is the order of magnitude of the relative rounding error in the
	// likelihood of a fit.
	Precision float64
	// Devices are the devices in use; the Info of each includes its memory.
	Devices []Device
}

// Chosen is the name that leaves the choice of the method to this package, as does the
// empty name: the method with the fewest operations among the exact methods that fit in memory. A later
// method of the list has to save a tenth. If that does not fit or takes long, a method with a bound of its error
// ([About.Bounded]) may stand in for it; see [Weigh].
const Chosen = "chosen"

// otherMethods are names of methods in other programs.
var otherMethods = suggest.Others{
	"-option experts kmeans:20 divides the rows among local experts, and method tree has a bound of its error": "vecchia nngp sparse svgp sgpr vfe fitc dtc inducing ski kissgp nystrom hodlr laplace approximate",
	"dense": "exact cholesky full", "markov": "kalman statespace celerite sde", "grid": "kronecker toeplitz",
}

// FindMethod returns the method called name in a list, nil for [Chosen] and for the empty
// name, or an error that names the methods.
func FindMethod(name string, methods []Method) (Method, error) {
	if name == "" || name == Chosen {
		return nil, nil
	}
	names := []string{Chosen}
	for _, m := range methods {
		own := m.About().Name
		if own == name {
			return m, nil
		}
		names = append(names, own)
	}
	last := len(names) - 1
	return nil, fmt.Errorf("must be %s or %s%s", strings.Join(names[:last], ", "), names[last], otherMethods.Hint(name, names))
}

// MaxRows returns the largest MaxRows of some methods, 0 if one has no limit, and the limit of [Dense]
// for none.
func MaxRows(methods []Method, hostFree int64) int {
	most := 0
	for _, m := range methods {
		rows := m.MaxRows(hostFree)
		if rows == 0 {
			return 0
		}
		most = max(most, rows)
	}
	if most == 0 {
		return Dense{}.MaxRows(hostFree)
	}
	return most
}

// backends returns the backends of the method called name on devices for a workload.
func backends(name string, methods []Method, devices []Device, w Workload) ([]Backend, error) {
	asked, err := FindMethod(name, methods)
	if err != nil {
		return nil, fmt.Errorf("option method %s: %w", textform.Quote(name), err)
	}
	if asked != nil {
		return supported(asked, devices, w)
	}
	for _, one := range Weigh(methods, devices, w) {
		if one.Chosen {
			for i, b := range one.Backends {
				one.Backends[i] = For(b, w)
			}
			return one.Backends, nil
		}
		if one.Method.About().Exact {
			err = cmp.Or(err, one.Err)
		}
	}
	return nil, err
}

// Room returns a [*MemoryError] if a plan of b needs more memory than is free on one of its devices or on the host.
func Room(b Backend, p Plan) error {
	places := []Info{b.Info()}
	if !places[0].Host { // it, or its devices, and the host beside them
		places = append(places, Info{Host: true, MemoryFree: hostmem.Free()})
		for _, d := range b.Capabilities().Devices {
			places = append(places, d.Info())
		}
	}
	return p.Check(places...)
}

// Weighed is a method on devices, judged for a workload.
type Weighed struct {
	Method Method
	// Plan is the cost of the workload on each device, if the number of points is known and the method supports the
	// workload. Otherwise Err is an [*UnavailableError], an [*UnsupportedError] or an [*UnsupportedKernelError].
	Plan Plan
	Err  error
	// Chosen means that it is the method that the name [Chosen] stands for.
	Chosen bool
	// Backends are the backends of the method; there are none after an error of its devices.
	Backends []Backend
}

// worthwhile is the share of the operations of the methods before it that a method may need to be
// chosen: a smaller gain is not worth the other last digits of another method.
const worthwhile = 0.9

// Weigh returns what each method takes for a workload on devices. The method that [Chosen] stands for is marked.
// It allocates no matrix.
func Weigh(methods []Method, devices []Device, w Workload) []Weighed {
	out, best, fits := make([]Weighed, len(methods)), -1, false
	for i, m := range methods {
		one := Weighed{Method: m}
		if one.Backends, one.Err = supported(m, devices, w); one.Err == nil && w.N > 0 {
			one.Plan = one.Backends[0].Plan(w)
		}
		out[i] = one
		if one.Err == nil && m.About().Exact && (best < 0 || one.better(out[best], fits, w)) {
			best, fits = i, Room(one.Backends[0], one.Plan) == nil
		}
	}
	if i := instead(out, best, fits, w); i >= 0 {
		best = i
	}
	if best >= 0 {
		out[best].Chosen = true
	}
	return out
}

// A method with a bound stands in for the best exact method if that does not fit in memory, or takes at least cheaper times as many
// operations, and a fit of fitValues values is not brief.
const cheaper, fitValues = 3, 20

// Brief reports whether a number of values with gradient take less than a minute at 1e11 operations in a second, about the rate
// of two cores. No measured rate decides, so that a job does the same on all machines on which it has room.
func (p Plan) Brief(values float64) bool { return p.FlopsGradient*values < 1e11*time.Minute.Seconds() }

// instead returns the method with a bound that stands in for the best exact method, −1 for none. fits says whether that
// has room. The points and the covariance function have to be known.
func instead(all []Weighed, best int, fits bool, w Workload) int {
	if w.Points == nil || w.Program == nil || w.N == 0 {
		return -1
	}
	for i, one := range all {
		if !one.Method.About().Bounded || one.Err != nil || Room(one.Backends[0], one.Plan) != nil {
			continue
		}
		if best < 0 || !fits {
			return i
		}
		if exact := all[best].Plan; !exact.Brief(fitValues) && exact.FlopsGradient >= cheaper*one.Plan.FlopsGradient {
			return i
		}
	}
	return -1
}

// better reports whether a method is better for a workload than the best of the methods before it; fits says
// whether that one fits in memory. A better one fits where that one does not, or saves a part of the operations. What methods cost depends on the points.
func (one Weighed) better(best Weighed, fits bool, w Workload) bool {
	if w.Points != nil && one.Plan.FlopsGradient < worthwhile*best.Plan.FlopsGradient {
		return !fits || Room(one.Backends[0], one.Plan) == nil
	}
	return !fits && Room(one.Backends[0], one.Plan) == nil
}

// supported returns the backends of m if they support the workload.
func supported(m Method, devices []Device, w Workload) ([]Backend, error) {
	found, err := m.Backends(devices)
	for _, b := range found {
		if err == nil {
			err = b.Supports(w)
		}
	}
	return found, err
}

// Dense is the method of one factorization on one device: Σ = LLᵀ in one n×n matrix
// of float64 numbers, n³/3 operations for a value and n³ with gradient. Each of its
// devices is a [DenseDevice] with a separate backend.
type Dense struct{}

// DenseName is the name of the method [Dense].
const DenseName = "dense"

// densePrecision is the rounding error of values at the condition numbers of typical fits.
const densePrecision = 1e-12

// About implements [Method].
func (Dense) About() About {
	return About{Name: DenseName, Exact: true, Text: "a Cholesky factorization of the n×n covariance matrix", Help: "a Cholesky factorization of the n×n matrix"}
}

// MaxRows returns the number of rows from which an n×n matrix fits in no device's memory,
// taken as a tebibyte, or sixteen times the host's free memory if that is more.
func (Dense) MaxRows(hostFree int64) int {
	const largest = 1 << 40
	return int(math.Sqrt(max(largest, 16*float64(hostFree)) / 8))
}

// Backends implements [Method].
func (m Dense) Backends(devices []Device) ([]Backend, error) {
	var out []Backend
	for _, d := range devices {
		e, ok := d.(DenseDevice)
		if !ok {
			return nil, &UnavailableError{Device: d.Info().Name, Reason: "it cannot factor matrices, which the method dense needs"}
		}
		out = append(out, m.On(e))
	}
	return out, nil
}

// On returns the backend of the method on d.
func (Dense) On(d DenseDevice) Backend { return denseBackend{d} }

// DenseDevice is a [Device] for [Dense]: it can hold one n×n matrix of float64
// numbers and factor it.
type DenseDevice interface {
	Device
	// Plan returns the memory and work for n points of d columns, without a middle term.
	// Plan.Middle and MiddleFlops are the additional cost of such a term.
	Plan(n, d int) Plan
	// Supports and NewWorkspace are the same as in [Backend].
	Supports(prog *kernel.Program) error
	NewWorkspace(ctx context.Context, x *kernel.Points) (DenseWorkspace, error)
}

// DenseWorkspace is the workspace of a [DenseDevice]: one n×n matrix, which holds
// Σ and then its Cholesky factor L, Σ = LLᵀ. It has all optional capabilities, and
// offers the two steps of Form separately for benchmarks and tests:
//
//	Fill → Factor → Solve, Contract, … in any order → Fill …
//
// A call out of order returns [ErrStage].
type DenseWorkspace interface {
	Workspace
	InverseDiagonal
	BlockInverse
	JointCovariance
	FactorStore
	DerivativeProducts
	// Fill forms Σ like Form.
	Fill(ctx context.Context, prog *kernel.Program, theta, noise []float64) error
	// Factor overwrites Σ by L. It costs n³/3 flops and returns the errors of Form.
	Factor(ctx context.Context) error
}

// denseBackend is the dense method on one device.
type denseBackend struct{ DenseDevice }

func (b denseBackend) Capabilities() Capabilities {
	return Capabilities{Method: DenseName, Exact: true, Precision: densePrecision, Devices: []Device{b.DenseDevice}}
}

func (b denseBackend) Plan(w Workload) Plan {
	p := b.DenseDevice.Plan(w.N, w.D)
	if w.Blocks != nil || w.Diagonal {
		p = p.withMiddle()
	}
	if w.Blocks != nil {
		p = p.withBlocks(w.Blocks)
	}
	p.Middle, p.MiddleFlops = nil, 0
	return p
}

func (b denseBackend) Supports(w Workload) error {
	if w.Program == nil {
		return nil
	}
	return b.DenseDevice.Supports(w.Program)
}

func (b denseBackend) NewWorkspace(ctx context.Context, x *kernel.Points) (Workspace, error) {
	w, err := b.DenseDevice.NewWorkspace(ctx, x)
	if err != nil {
		return nil, err
	}
	return w, nil
}
