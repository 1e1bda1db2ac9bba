package kernels_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"unsafe"

	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/emulator"
	"gpfit/device/cuda/kernels"
	"gpfit/device/cuda/ptx"
	"gpfit/kernel"
	"gpfit/kernel/kerneltest"
)

// tolerance is relative. Kernels and CPU code round differently in sums of a few dozen
// terms and in exp.
const tolerance = 1e-13

// poison marks memory that no kernel may touch.
const poison = -7.25e77

func TestMain(m *testing.M) {
	os.Exit(emulator.Main(m, emulator.Config{Memory: 1 << 40}))
}

// A machine collects buffers and launches and runs them on the emulated device. A buffer's address
// is its number + 1 in the upper bits and, in the lower, a byte offset, perhaps negative, plus origin.
type machine struct {
	t       testing.TB
	buffers []buffer
	queue   []kernels.Launch
	checks  []func()
	done    bool
}

type buffer struct {
	size, offset int64 // bytes
	data         []byte
	addresses    bool // the data are addresses in other buffers, as words
}

const (
	addressBits = 44
	origin      = 1 << (addressBits - 1)
)

func newMachine(t testing.TB) *machine {
	t.Helper()
	emulator.Need(t)
	return &machine{t: t}
}

func bytesOf(data any) []byte {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, data); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// put makes a buffer with a copy of data.
func (m *machine) put(data any) kernels.Ptr {
	b := bytesOf(data)
	return m.window(int64(len(b)), 0, b)
}

// addresses makes a buffer with addresses in other buffers.
func (m *machine) addresses(words []int64) kernels.Ptr {
	p := m.put(words)
	m.buffers[len(m.buffers)-1].addresses = true
	return p
}

// window makes a buffer of size bytes. Only the bytes from offset on, as many as data
// has, are copied to the device and back.
func (m *machine) window(size, offset int64, data []byte) kernels.Ptr {
	m.buffers = append(m.buffers, buffer{size: size, offset: offset, data: data})
	return kernels.Ptr(len(m.buffers))<<addressBits + origin
}

// blank makes a buffer of n poisoned numbers.
func (m *machine) blank(n int64) kernels.Ptr {
	data := make([]float64, n)
	for i := range data {
		data[i] = poison
	}
	return m.put(data)
}

// work makes the memory of a contraction, which is not copied back and whose contents do not
// matter.
func (m *machine) work(on kernels.Function, blocks int64) kernels.ContractWork {
	scratch, partial := kernels.ContractSpace(on.Kernel, blocks)
	return kernels.ContractWork{Scratch: m.window(scratch, 0, nil), Partial: m.window(partial, 0, nil), Blocks: blocks}
}

func (m *machine) launch(launches ...kernels.Launch) {
	for _, l := range launches {
		if l.Blocks > 0 {
			m.queue = append(m.queue, l)
		}
	}
}

// run runs the queue.
func (m *machine) run() {
	m.t.Helper()
	results, err := m.runOn(nil)
	if err != nil {
		m.t.Fatal(err)
	}
	for i, data := range results {
		m.buffers[i].data = data
	}
	m.queue, m.done = nil, true
	for _, check := range m.checks {
		check()
	}
	m.checks = nil
}

// after adds a check of the results, for the end of run.
func (m *machine) after(check func()) { m.checks = append(m.checks, check) }

// runOn runs the queue, with separate memory for each buffer, and returns the final contents of the
// buffers. If a text is given, all launches use the module with that text.
func (m *machine) runOn(given []byte) (out [][]byte, err error) {
	d, err := driver.Open(0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	s, err := d.NewStream()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Destroy()) }()
	modules := map[string]*driver.Module{}
	defer func() {
		for _, module := range modules {
			err = errors.Join(err, module.Unload())
		}
	}()
	at := make([]driver.Ptr, len(m.buffers))
	defer func() {
		for _, p := range at {
			err = errors.Join(err, d.Free(p))
		}
	}()
	for i, b := range m.buffers {
		if at[i], err = d.Alloc(max(b.size, 8)); err != nil {
			return nil, err
		}
	}
	for i, b := range m.buffers {
		data := words(b.data)
		if b.addresses {
			data = words(relocated(b.data, at))
		}
		if err := driver.CopyToDevice(s, at[i].Offset(b.offset), data); err != nil {
			return nil, err
		}
	}
	for _, l := range m.queue {
		text := given
		if text == nil {
			if text, err = textOf(l); err != nil {
				return nil, err
			}
		}
		if modules[string(text)] == nil {
			if modules[string(text)], err = d.LoadModule(text); err != nil {
				return nil, err
			}
		}
		f, err := modules[string(text)].Function(l.Kernel)
		if err != nil {
			return nil, err
		}
		if err := f.Launch(s, l.Blocks, kernels.Threads, m.located(l, at)...); err != nil {
			return nil, err
		}
	}
	for i, b := range m.buffers {
		out = append(out, make([]byte, len(b.data)))
		if err := driver.CopyToHost(s, words(out[i]), at[i].Offset(b.offset)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// textOf returns the text of the module of a launch.
func textOf(l kernels.Launch) ([]byte, error) {
	if l.Of == nil {
		return kernels.Module(8, 0)
	}
	return l.Text(8, 0)
}

// words converts bytes to elements that the driver copies.
func words(b []byte) []int32 {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*int32)(unsafe.Pointer(&b[0])), len(b)/4)
}

// located returns the arguments of a launch with addresses in place of buffer numbers.
func (m *machine) located(l kernels.Launch, at []driver.Ptr) []uint64 {
	table := slices.Concat(kernels.Table(), ptx.Entries())
	k := slices.IndexFunc(table, func(k *kernels.Kernel) bool { return k.Name == l.Kernel })
	args := slices.Clone(l.Args)
	for i, arg := range args {
		if table[k].Params[i].Kind == ptx.Pointer {
			args[i] = address(arg, at)
		}
	}
	return args
}

// address returns the address that stands for a buffer's number and an offset.
func address(arg uint64, at []driver.Ptr) uint64 {
	if number := arg >> addressBits; number > 0 {
		return uint64(at[number-1]) + arg&(1<<addressBits-1) - origin
	}
	return arg
}

// relocated returns words that are addresses.
func relocated(data []byte, at []driver.Ptr) (out []byte) {
	for ; len(data) > 0; data = data[8:] {
		out = binary.LittleEndian.AppendUint64(out, address(binary.LittleEndian.Uint64(data), at))
	}
	return out
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

// value copies a covariance function at theta to the machine. gradient copies its
// derivatives, for which uniforms are the uniform values.
func (m *machine) value(prog *kernel.Program, theta []float64) kernels.Function {
	m.t.Helper()
	f, _ := m.function(prog, theta, ptx.New)
	return f
}

func (m *machine) gradient(prog *kernel.Program, theta []float64) (f kernels.Function, uniforms []float64) {
	m.t.Helper()
	return m.function(prog, theta, ptx.NewGradient)
}

// gradientOf returns a machine with the gradient of a kernel at some parameters, and n points of 11
// columns.
func gradientOf(t *testing.T, seed uint64, text string, n int) (*machine, *rand.Rand, kernels.Function, kernels.Points) {
	t.Helper()
	rng, m := seeded(seed), newMachine(t)
	prog := kerneltest.Program(t, text, 11)
	on, _ := m.gradient(prog, someTheta(rng, prog))
	return m, rng, on, m.points(somePoints(rng, n, 11))
}

func (m *machine) function(prog *kernel.Program, theta []float64, compile func(*kernel.Program) (*ptx.Kernel, error)) (kernels.Function, []float64) {
	m.t.Helper()
	k, err := compile(prog)
	if err != nil {
		m.t.Fatal(err)
	}
	words := make([]float64, k.Size())
	values := k.Uniforms(words, theta)
	return kernels.Function{Kernel: k, Uniforms: m.put(words)}, values
}

func (m *machine) points(x *kernel.Points) kernels.Points {
	return kernels.Points{X: m.put(x.X), N: int64(x.N)}
}

// someTheta returns parameters of about one. Lengthscales grow with the number of
// columns, so that covariances stay away from zero.
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

// somePoints returns points with normal coordinates off the origin; every seventh point
// is a duplicate.
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

// bounds returns the scales for the relative errors of a row of covariances: their absolute values,
// or √(k(x, x)·k(y, y)), which no covariance exceeds, if terms of different sign can cancel.
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

// trial is a program at random parameters, with a machine and sizes.
type trial struct {
	*machine
	rng   *rand.Rand
	prog  *kernel.Program
	theta []float64
	sizes []int
	e     *kernel.Evaluator
}

// eachProgram runs a test of a trial for each program of a list, in parallel, and then the machine.
func eachProgram(t *testing.T, seed uint64, list []testProgram, test func(c *trial)) {
	for i, p := range list {
		t.Run(fmt.Sprintf("%s/%d", p.text, p.d), func(t *testing.T) {
			t.Parallel()
			c := &trial{machine: newMachine(t), rng: seeded(seed), prog: kerneltest.Program(t, p.text, p.d), sizes: sizesOf(i)}
			c.theta, c.e = someTheta(c.rng, c.prog), kernel.NewEvaluator(c.prog)
			c.e.Bind(c.theta)
			test(c)
			c.run()
		})
	}
}

// testProgram is a program: its text and number of columns.
type testProgram struct {
	text string
	d    int
}

// programs are used in all tests.
var programs = []testProgram{
	{"rbf", 1}, {"matern12", 3}, {"matern32", 8}, {"matern52", 9}, {"rbf(ard)", 3},
	{"matern12(ard)", 8}, {"matern32(ard)", 17}, {"matern52(ard)", 64}, {"rbf(ard)", 100},
	{"matern12(ard, dims=[3, 1])", 4}, {"rbf(dims=2)", 4}, {"rbf + matern32", 5},
	{"rbf*matern12(ard)", 12}, {"rbf(ard) + rbf*matern52 + matern12(dims=2)", 10},
	{"(rbf + matern12(ard))*matern52(ard)", 5},
	{"matern52*(rbf(ard)*matern32 + matern12(dims=0))*(rbf(dims=1) + matern32(ard))", 3},
	{"rbf(ard) + matern32(ard)", 20}, {"rq", 3}, {"rq(ard)", 11}, {"periodic", 1},
	{"periodic", 10}, {"periodic(ard)", 9}, {"periodic(ard)", 1}, {"cosine", 2},
	{"cosine(ard)", 9}, {"linear", 3}, {"linear(ard)", 12}, {"poly(1)", 2}, {"poly(2)", 9},
	{"poly(5, ard)", 3}, {"constant", 2}, {"constant + rbf", 2}, {"rbf + constant", 2},
	{"rq*periodic(ard) + linear(dims=1)*cosine", 4},
	{"poly(3, dims=0)*(rq(ard) + constant)*periodic", 3},
	{"linear + rbf(ard)*periodic(ard, dims=[2, 0]) + constant", 3},
}

// withDeep are the programs and one with the largest stack.
var withDeep = append(slices.Clone(programs), testProgram{"rbf + matern12*(rbf + matern32*(rbf + matern52*(rbf + matern12)))*rbf(ard)", 3})
