package kernels_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"testing"

	"gpfit/device/cuda/kernels"
	"gpfit/device/cuda/kernels/emulate"
	"gpfit/kernel"
)

// tolerance is relative: kernels and CPU code round differently, in sums of a few
// dozen terms and in exp.
const tolerance = 1e-13

// poison marks memory that no kernel should touch.
const poison = -7.25e77

// A machine collects buffers and launches and runs them on the CPU. A buffer's
// address is its number + 1 in the upper bits and a byte offset in the lower.
type machine struct {
	t       testing.TB
	buffers []buffer
	queue   []kernels.Launch
	done    bool
}

type buffer struct {
	size, offset int64 // bytes
	data         []byte
}

const addressBits = 44

func newMachine(t testing.TB) *machine {
	t.Helper()
	if _, err := emulate.Driver(); errors.Is(err, emulate.ErrNoCompiler) {
		t.Skip("KERNELS NOT TESTED: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	return &machine{t: t}
}

func bytesOf(data any) []byte {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, data); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// put makes a buffer of data.
func (m *machine) put(data any) kernels.Ptr {
	b := bytesOf(data)
	return m.window(int64(len(b)), 0, b)
}

// window makes a buffer of size bytes of which only those from offset on, as many
// as data has, are given and can be had back.
func (m *machine) window(size, offset int64, data []byte) kernels.Ptr {
	m.buffers = append(m.buffers, buffer{size, offset, data})
	return kernels.Ptr(len(m.buffers)) << addressBits
}

// blank makes a buffer of n poisoned numbers.
func (m *machine) blank(n int64) kernels.Ptr {
	data := make([]float64, n)
	for i := range data {
		data[i] = poison
	}
	return m.put(data)
}

// scratch makes a buffer that is not handed back.
func (m *machine) scratch(bytes int64) kernels.Ptr { return m.window(bytes, 0, nil) }

func (m *machine) launch(launches ...kernels.Launch) {
	for _, l := range launches {
		if l.Blocks > 0 {
			m.queue = append(m.queue, l)
		}
	}
}

// run runs the queue twice, the threads of a block in ascending and descending
// order, and wants the same bits.
func (m *machine) run() {
	m.t.Helper()
	path, err := emulate.Driver()
	if err != nil {
		m.t.Fatal(err)
	}
	var results [2][]byte
	for k, order := range []string{"", "reverse"} {
		cmd := exec.Command(path)
		cmd.Env = append(os.Environ(), "GPFIT_EMULATOR_ORDER="+order)
		cmd.Stdin = bytes.NewReader(m.request())
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		results[k], err = cmd.Output()
		if err != nil {
			if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == 3 {
				m.t.Skipf("not enough address space: %s", stderr.Bytes())
			}
			m.t.Fatalf("emulator: %v\n%s", err, stderr.Bytes())
		}
	}
	if !bytes.Equal(results[0], results[1]) {
		m.t.Error("the result depends on the order of threads: a barrier is missing")
	}
	out := results[0]
	for i := range m.buffers {
		n := len(m.buffers[i].data)
		m.buffers[i].data, out = out[:n], out[n:]
	}
	m.queue, m.done = nil, true
}

func (m *machine) request() []byte {
	var b []byte
	put := func(values ...int64) {
		for _, v := range values {
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		}
	}
	put(int64(len(m.buffers)))
	for _, u := range m.buffers {
		put(u.size, u.offset, int64(len(u.data)))
		b = append(b, u.data...)
		put(u.offset, int64(len(u.data)))
	}
	params := map[string][]kernels.Param{}
	for _, k := range kernels.Table() {
		params[k.Name] = k.Params
	}
	put(int64(len(m.queue)))
	for _, l := range m.queue {
		put(int64(len(l.Kernel)))
		b = append(b, l.Kernel...)
		put(int64(l.Blocks), 1, 1, kernels.Threads, 1, 1, 0, int64(len(l.Args)))
		for i, arg := range l.Args {
			if params[l.Kernel][i].Kind == kernels.Pointer {
				put(int64(arg>>addressBits), int64(arg&(1<<addressBits-1)))
			} else {
				put(0, int64(arg))
			}
		}
	}
	return b
}

// floats returns the buffer at p after run.
func (m *machine) floats(p kernels.Ptr) []float64 {
	m.t.Helper()
	if !m.done {
		m.t.Fatal("not run")
	}
	data := m.buffers[p>>addressBits-1].data
	out := make([]float64, len(data)/8)
	for i := range out {
		out[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return out
}

func (m *machine) ints(p kernels.Ptr) []int64 {
	var out []int64
	for _, v := range m.floats(p) {
		out = append(out, int64(math.Float64bits(v)))
	}
	return out
}

// program puts prog and theta into the machine.
func (m *machine) program(prog *kernel.Program, theta []float64) kernels.Program {
	m.t.Helper()
	enc, err := kernels.Encode(prog)
	if err != nil {
		m.t.Fatal(err)
	}
	return kernels.Program{Words: m.put(enc.Words), Theta: m.put(theta), Encoded: enc}
}

func (m *machine) points(x *kernel.Points) kernels.Points {
	return kernels.Points{X: m.put(x.X), N: int64(x.N)}
}

// someTheta is a vector of parameters of size about one: lengthscales grow with
// the number of columns so that covariances stay away from zero.
func someTheta(rng *rand.Rand, prog *kernel.Program) []float64 {
	theta := make([]float64, prog.NumParams)
	for _, p := range prog.Params {
		for k := range p.Size {
			v := 0.5 + rng.Float64()
			if p.Kind == kernel.Lengthscale || p.Kind == kernel.Period || p.Kind == kernel.InnerScale {
				v *= math.Sqrt(float64(len(p.Dims)))
			}
			theta[p.Offset+k] = v
		}
	}
	return theta
}

// somePoints has normal coordinates off the origin; every seventh point is a
// duplicate.
func somePoints(rng *rand.Rand, n, d int) *kernel.Points {
	x := &kernel.Points{N: n, D: d, X: make([]float64, n*d)}
	for i := range n {
		for c := range d {
			x.X[c*n+i] = 3 + rng.NormFloat64()
			if i%7 == 6 {
				x.X[c*n+i] = x.X[c*n+i-3]
			}
		}
	}
	return x
}

func normals(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return v
}

// row returns k(x_i, y_j) for all j.
func row(e *kernel.Evaluator, x *kernel.Points, i int, y *kernel.Points) []float64 {
	dst := make([]float64, y.N)
	e.Row(dst, x, i, y, 0, y.N)
	return dst
}

func near(got, want, scale float64) bool {
	return math.Abs(got-want) <= tolerance*math.Abs(scale) || got == want
}

// bounds returns what errors of a row of covariances are relative to: their values
// or, where terms of either sign can cancel, √(k(x, x)·k(y, y)), which no covariance
// exceeds.
func bounds(e *kernel.Evaluator, prog *kernel.Program, values []float64, x *kernel.Points, i int, y *kernel.Points) []float64 {
	cancels := slices.ContainsFunc(prog.Features, func(f kernel.Feature) bool {
		return f.Kind == kernel.InnerProduct || f.Kind == kernel.Differences
	})
	if !cancels {
		return slices.Clone(values)
	}
	own, others := make([]float64, 1), make([]float64, y.N)
	e.Diagonal(own, x, i, i+1)
	e.Diagonal(others, y, 0, y.N)
	for j, v := range others {
		others[j] = math.Sqrt(own[0] * v)
	}
	return others
}

// programs to run everything with: text and number of columns.
var programs = []struct {
	text string
	d    int
}{
	{"rbf", 1},
	{"matern12", 3},
	{"matern32", 8},
	{"matern52", 9},
	{"rbf(ard)", 3},
	{"matern12(ard)", 8},
	{"matern32(ard)", 17},
	{"matern52(ard)", 64},
	{"rbf(ard)", 100},
	{"matern12(ard, dims=[3, 1])", 4},
	{"rbf(dims=2)", 4},
	{"rbf + matern32", 5},
	{"rbf*matern12(ard)", 12},
	{"rbf(ard) + rbf*matern52 + matern12(dims=2)", 10},
	{"(rbf + matern12(ard))*matern52(ard)", 5},
	{"matern52*(rbf(ard)*matern32 + matern12(dims=0))*(rbf(dims=1) + matern32(ard))", 3},
	{"rbf(ard) + matern32(ard)", 20},
	{"rq", 3},
	{"rq(ard)", 11},
	{"periodic", 1},
	{"periodic", 10},
	{"periodic(ard)", 9},
	{"periodic(ard)", 1},
	{"cosine", 2},
	{"cosine(ard)", 9},
	{"linear", 3},
	{"linear(ard)", 12},
	{"poly(1)", 2},
	{"poly(2)", 9},
	{"poly(5, ard)", 3},
	{"constant", 2},
	{"constant + rbf", 2},
	{"rbf + constant", 2},
	{"rq*periodic(ard) + linear(dims=1)*cosine", 4},
	{"poly(3, dims=0)*(rq(ard) + constant)*periodic", 3},
	{"linear + rbf(ard)*periodic(ard, dims=[2, 0]) + constant", 3},
}

// deep is a program with the largest stack.
const deep = "rbf + matern12*(rbf + matern32*(rbf + matern52*(rbf + matern12)))*rbf(ard)"
