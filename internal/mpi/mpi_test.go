package mpi_test

import (
	"fmt"
	"gonum.org/v1/gonum/floats"
	"gpfit/internal/kerneltest"
	"gpfit/kernel"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/device/devicetest"
	"gpfit/internal/mpi"
	"gpfit/internal/mpi/message"
	"gpfit/internal/must"
)

// TestMain makes the test binary a program of several ranks: the test of rank 0 runs, and the others serve it.
func TestMain(m *testing.M) {
	if message.Launched().Rank > 0 {
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
	return must.Get(mpi.Method{}.Backends([]device.Device{must.Get(cpu.Open(device.Options{}))(t)}))(t)[0]
}

// onRanks runs a test of this binary on several ranks, unless it is one of them.
func onRanks(t *testing.T, ranks int, environment ...string) {
	t.Helper()
	mpirun, err := exec.LookPath("mpirun")
	if err != nil {
		t.Skip("SKIPPED: there is no mpirun: install openmpi-bin and libscalapack-openmpi-dev")
	}
	cmd := exec.Command(mpirun, "--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--bind-to", "none", "-n", fmt.Sprint(ranks),
		os.Args[0], "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", "-test.count=1", "-test.v", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), append(environment, "GPFIT_TEST_RANKS=1", "GOMAXPROCS=1", "OPENBLAS_NUM_THREADS=1")...)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
}

// isRank reports whether this process is a rank of [onRanks].
func isRank() bool { return os.Getenv("GPFIT_TEST_RANKS") != "" }

// TestConformance runs the suite of methods on grids of ranks.
func TestConformance(t *testing.T) {
	for _, one := range []struct {
		grid  string
		ranks int
		block int
	}{{"1x1", 1, 64}, {"1x2", 2, 64}, {"2x2", 4, 200}, {"3x1", 3, 64}} {
		t.Run(one.grid, func(t *testing.T) {
			if isRank() {
				devicetest.Run(t, func(t *testing.T) device.Backend { return open(t) })
				return
			}
			onRanks(t, one.ranks, "GPFIT_MPI_GRID="+one.grid, fmt.Sprintf("GPFIT_MPI_BLOCK=%d", one.block))
		})
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
	w := must.Get(b.NewWorkspace(t.Context(), x))(t)
	defer w.Close()
	must.Do(t, w.Form(t.Context(), prog, theta, []float64{noise}))
	alpha := slices.Clone(y)
	must.Do(t, w.Solve(t.Context(), alpha, 1))
	logDet, _ := must.Get2(w.LogDet())(t)
	e.nlml = (floats.Dot(y, alpha) + logDet + float64(x.N)*math.Log(2*math.Pi)) / 2
	e.gradient = make([]float64, len(theta)+1)
	diag := make([]float64, x.N)
	must.Do(t, w.Contract(t.Context(), device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: alpha}, prog, theta, e.gradient[:len(theta)], diag))
	e.gradient[len(theta)] = noise * floats.Sum(diag)
	return e
}

// TestExact compares values and gradients with those of the method dense, and repeats them to the bit.
func TestExact(t *testing.T) {
	sizes := []int{97, 300}
	if os.Getenv("GPFIT_LONG") != "" {
		sizes = []int{97, 601, 1000, 3000}
	}
	for _, one := range []struct {
		grid         string
		ranks, block int
	}{{"1x1", 1, 200}, {"1x2", 2, 64}, {"2x2", 4, 64}, {"3x1", 3, 200}} {
		t.Run(one.grid, func(t *testing.T) {
			if !isRank() {
				onRanks(t, one.ranks, "GPFIT_MPI_GRID="+one.grid, fmt.Sprintf("GPFIT_MPI_BLOCK=%d", one.block))
				return
			}
			dense := must.Get(cpu.New(device.Options{}))(t)
			for _, text := range families() {
				for _, n := range sizes {
					if n > 1000 && text != "rbf(ard)" && text != "matern32" {
						continue
					}
					compareWithDense(t, dense, text, n)
				}
			}
		})
	}
}

func compareWithDense(t *testing.T, dense device.Backend, text string, n int) {
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
	want, got, again := evaluate(t, dense, x, prog, theta, y, 0.5), evaluate(t, open(t), x, prog, theta, y, 0.5), evaluate(t, open(t), x, prog, theta, y, 0.5)
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
