package mpi_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/device/devicetest"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/kernel/kerneltest"
	"gpfit/method/mpi"
	"gpfit/method/mpi/message"
)

// TestMain makes the test binary a program of several ranks: the test of rank 0 runs, and the others serve it.
func TestMain(m *testing.M) {
	if message.Launched().Rank > 0 {
		for _, v := range strings.Fields(os.Getenv("GPFIT_TEST_OTHERS")) {
			name, value, _ := strings.Cut(v, "=")
			_ = os.Setenv(name, value)
		}
		code, err := mpi.Serve()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		os.Exit(code)
	}
	code := m.Run()
	if err := mpi.End(code); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// open returns the method on the ranks of this program.
func open(t testing.TB) device.Backend {
	return testcheck.Get(mpi.Method{}.Backends([]device.Device{testcheck.Get(cpu.Open(device.Options{}))(t)}))(t)[0]
}

// grid is ranks in rows and columns, with blocks of an order, and an engine, "" for the default.
type grid struct {
	rows, cols, block int
	engine            string
	// others are variables of all ranks but rank 0.
	others []string
}

func (g grid) String() string {
	return fmt.Sprintf("%dx%d%s", g.rows, g.cols, g.engine)
}

// grids are the grids of the tests.
func grids() []grid {
	all := []grid{{rows: 1, cols: 1, block: 64}, {rows: 1, cols: 2, block: 64}, {rows: 2, cols: 2, block: 200}, {rows: 3, cols: 1, block: 64}}
	if strings.Contains(mpi.Describe(), "ELPA") {
		all[1].engine = "elpa"
	}
	return all
}

// run runs a test of this binary on the ranks of the grid, or calls test if this process is one of them.
func (g grid) run(t *testing.T, test func(t *testing.T)) {
	t.Run(g.String(), func(t *testing.T) {
		if os.Getenv("GPFIT_TEST_RANKS") != "" {
			test(t)
			return
		}
		mpirun, err := exec.LookPath("mpirun")
		if err != nil {
			missing := "there is no mpirun: install openmpi-bin and libscalapack-openmpi-dev"
			if os.Getenv("GPFIT_MPI_REQUIRED") == "1" {
				t.Fatal(missing)
			}
			t.Skip("SKIPPED: " + missing)
		}
		cmd := exec.Command(mpirun, "--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--bind-to", "none", "-n", fmt.Sprint(g.rows*g.cols),
			os.Args[0], "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", "-test.count=1", "-test.v", "-test.timeout=10m")
		cmd.Env = append(os.Environ(), "GPFIT_TEST_OTHERS="+strings.Join(g.others, " "), "GPFIT_TEST_RANKS=1", "GOMAXPROCS=1", "OPENBLAS_NUM_THREADS=1",
			fmt.Sprintf("GPFIT_MPI_GRID=%dx%d", g.rows, g.cols), fmt.Sprintf("GPFIT_MPI_BLOCK=%d", g.block), "GPFIT_MPI_ENGINE="+g.engine)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// TestConformance runs the suite of methods on grids of ranks, on two of them if time is short.
func TestConformance(t *testing.T) {
	all := grids()
	if !testcheck.Long() {
		all = all[1:3]
	}
	for _, g := range all {
		g.run(t, func(t *testing.T) {
			devicetest.Run(t, func(t *testing.T) device.Backend { return open(t) })
		})
	}
}

// TestNotPD forms a matrix whose leading minor of a known order is 0, and then another one: all ranks agree.
func TestNotPD(t *testing.T) {
	grids()[2].run(t, formNotPD)
}

func formNotPD(t *testing.T) {
	const n = 700
	b := open(t)
	x, prog := kernel.NewPoints(make([]float64, n), n, 1), kerneltest.Program(t, "rbf", 1)
	for _, bad := range []int{1, 199, 200, 201, 650} {
		for i := range n {
			x.X[i] = float64(1000 * i)
		}
		x.X[bad] = 0
		w := testcheck.Get(b.NewWorkspace(t.Context(), x))(t)
		err := w.Form(t.Context(), prog, []float64{1, 1}, []float64{0})
		if e, ok := errors.AsType[*device.NotPDError](err); !ok || e.Minor != bad+1 || e.N != n {
			t.Errorf("row %d repeats the first: %v", bad, err)
		}
		if _, _, err := w.LogDet(); !errors.Is(err, device.ErrStage) {
			t.Errorf("log|Σ| of no factor: %v", err)
		}
		testcheck.Do(t, w.Form(t.Context(), prog, []float64{1, 1}, []float64{1}))
		// 2 on the diagonal, and a pair of equal rows: 2² − 1 in place of 2².
		if logDet, _ := testcheck.Get2(w.LogDet())(t); math.Abs(logDet-(float64(n-2)*math.Log(2)+math.Log(3))) > 1e-10*n {
			t.Errorf("log|Σ| = %v", logDet)
		}
		testcheck.Do(t, w.Close())
	}
}

// TestLimits asks for what the method cannot do.
func TestLimits(t *testing.T) {
	b := open(t)
	prog := kerneltest.Program(t, "rbf", 1)
	for what, w := range map[string]device.Workload{
		"start at least 10 ranks": {N: 140_000, D: 1, Program: prog},
		"leave-one-out":           {N: 10, D: 1, Program: prog, Diagonal: true},
		"blocks of the inverse":   {N: 10, D: 1, Program: prog, Blocks: []int{5, 10}},
		"a factor":                {N: 10, D: 1, Program: prog, Factor: true},
	} {
		if err := b.Supports(w); !errors.As(err, new(*device.UnsupportedError)) || !strings.Contains(err.Error(), what) {
			t.Errorf("%+v: %v, want %q", w, err, what)
		}
	}
	plan := b.Plan(device.Workload{N: 40_000, D: 3})
	if bytes := float64(plan.HostBytes()); bytes < 8*4e4*4e4 || bytes > 1.01*8*4e4*4e4 {
		t.Errorf("40,000 rows take %s", device.FormatBytes(plan.HostBytes()))
	}
	info := b.Info()
	info.MemoryFree = 1 << 30
	if err := plan.Check(info); !errors.As(err, new(*device.MemoryError)) {
		t.Errorf("13 GB in 1 GiB: %v", err)
	}
}

// families returns expressions with every family, isotropic and with a lengthscale for each column, and composites.
func families() []string {
	out := []string{"poly(2)", "matern(2.5)", "wendland(1)", "rbf(ard) + matern32*matern12(dims=1)", "(rbf + matern52)*matern32",
		"rq(ard) + linear(dims=0)*cosine(dims=1)", "periodic(ard)*rbf(dims=1) + constant", "poly(2, offset=0) + rbf", "formula(exp(-w*r2), w=1)"}
	for _, name := range kernel.Families() {
		switch name {
		case "poly", "matern", "wendland", "formula":
		case "constant":
			out = append(out, name)
		default:
			out = append(out, name, name+"(ard)")
		}
	}
	return out
}

// evaluation is a value with its gradient, whose last element is the derivative by the noise.
type evaluation struct {
	nlml     float64
	gradient []float64
}

// evaluate returns the negative log marginal likelihood of targets y.
func evaluate(t testing.TB, b device.Backend, x *kernel.Points, prog *kernel.Program, theta, y []float64, noise float64) (e evaluation) {
	t.Helper()
	w := testcheck.Get(b.NewWorkspace(t.Context(), x))(t)
	defer w.Close()
	testcheck.Do(t, w.Form(t.Context(), prog, theta, []float64{noise}))
	alpha := slices.Clone(y)
	testcheck.Do(t, w.Solve(t.Context(), alpha, 1))
	logDet, _ := testcheck.Get2(w.LogDet())(t)
	e.nlml = (floats.Dot(y, alpha) + logDet + float64(x.N)*math.Log(2*math.Pi)) / 2
	e.gradient = make([]float64, len(theta)+1)
	diag := make([]float64, x.N)
	testcheck.Do(t, w.Contract(t.Context(), device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: alpha}, prog, theta, e.gradient[:len(theta)], diag))
	e.gradient[len(theta)] = noise * floats.Sum(diag)
	again := slices.Clone(y)
	if testcheck.Do(t, w.Solve(t.Context(), again, 1)); !slices.Equal(again, alpha) {
		t.Error("after the gradient a solution has other bits")
	}
	return e
}

// TestExact compares values and gradients with the results of the method dense, and repeats them to the bit.
func TestExact(t *testing.T) {
	sizes := []int{97, 300}
	if testcheck.Long() {
		sizes = []int{97, 601, 1000, 3000}
	}
	for _, g := range grids() {
		if g.rows*g.cols != 3 && !testcheck.Long() {
			continue
		}
		g.run(t, func(t *testing.T) {
			dense := testcheck.Get(cpu.New(device.Options{}))(t)
			for _, text := range families() {
				for _, n := range sizes {
					if n <= 1000 || text == "rbf(ard)" || text == "matern32" {
						compareOn(t, open(t), dense, text, n)
					}
				}
			}
		})
	}
}

// compareOn compares one value and gradient of a backend with the method dense, and repeats it to the bit.
func compareOn(t *testing.T, on, dense device.Backend, text string, n int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(n), 5))
	rows, y := make([]float64, 2*n), make([]float64, n)
	for i := range rows {
		rows[i] = rng.NormFloat64()
	}
	for i := range y {
		y[i] = rng.NormFloat64()
	}
	prog := kerneltest.Program(t, text, 2)
	theta := make([]float64, prog.NumParams)
	for p := range theta {
		theta[p] = math.Exp(0.3 * rng.NormFloat64())
	}
	x := kernel.NewPoints(rows, n, 2)
	want, got, again := evaluate(t, dense, x, prog, theta, y, 0.5), evaluate(t, on, x, prog, theta, y, 0.5), evaluate(t, on, x, prog, theta, y, 0.5)
	if math.Abs(got.nlml-want.nlml) > 1e-13*math.Abs(want.nlml) {
		t.Errorf("%s, n = %d: NLML %v, dense %v (%.1e)", text, n, got.nlml, want.nlml, got.nlml/want.nlml-1)
	}
	scale := floats.Norm(want.gradient, math.Inf(1))
	for p, v := range want.gradient {
		if math.Abs(got.gradient[p]-v) > 1e-12*scale {
			t.Errorf("%s, n = %d: derivative %d is %v, dense %v (%.1e)", text, n, p, got.gradient[p], v, (got.gradient[p]-v)/scale)
		}
	}
	if again.nlml != got.nlml || !slices.Equal(again.gradient, got.gradient) {
		t.Errorf("%s, n = %d: repeated, the bits differ", text, n)
	}
}

// TestOtherVariables gives rank 1 other variables than rank 0, whose variables count.
func TestOtherVariables(t *testing.T) {
	g := grid{rows: 1, cols: 2, block: 64, others: []string{"GPFIT_MPI_BLOCK=100", "GPFIT_MPI_GRID=2x1", "GPFIT_MPI_ENGINE=none"}}
	g.run(t, func(t *testing.T) {
		compareOn(t, open(t), testcheck.Get(cpu.New(device.Options{}))(t), "rbf(ard)", 300)
	})
}
