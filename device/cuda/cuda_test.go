package cuda

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/device/cuda/emulator"
	"gpfit/device/devicetest"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/hyperopt"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/method/merged"
)

// realDevice names a GPU of this machine, such as "cuda:0", on which to run the conformance suite
// instead of the emulated device. It is only for tests whose names begin with TestConformance.
var realDevice = os.Getenv("GPFIT_TEST_DEVICE")

func TestMain(m *testing.M) {
	if realDevice != "" {
		os.Exit(m.Run())
	}
	os.Exit(emulator.Main(m, emulator.Config{}))
}

// needDevice skips the test if there is neither a real nor an emulated device.
func needDevice(t *testing.T) {
	t.Helper()
	if realDevice == "" {
		emulator.Need(t)
	}
}

func mustOpen(t *testing.T) device.DenseDevice {
	t.Helper()
	needDevice(t)
	name := "cuda:0"
	if realDevice != "" {
		name = realDevice
	}
	return testcheck.Get(openDevice(name))(t)
}

func TestConformance(t *testing.T) {
	needDevice(t)
	if realDevice == "" && !testcheck.Long() {
		t.Skip("small steps take every path that this takes; GPFIT_LONG=1 runs both")
	}
	t.Parallel()
	devicetest.RunInPlace(t, mustOpen)
	devicetest.RunInPlace(t, func(t *testing.T) device.DenseDevice {
		b := mustOpen(t)
		b.(*Device).sizes = sizes{fill: 96, factor: 80, symm: 48, leaf: 32, panel: 64, gemm: 1e6, spread: 1000}
		return b
	})
}

// TestConformanceSmallSteps runs the code paths of large matrices at small n.
func TestConformanceSmallSteps(t *testing.T) {
	needDevice(t)
	t.Parallel()
	conformWithSmallSteps(t)
}

// TestConformanceLate does so on a device whose streams work late and in random order.
func TestConformanceLate(t *testing.T) {
	needDevice(t)
	if realDevice != "" || !testcheck.Long() {
		t.Skip("TestLateWork has a sample of this; GPFIT_LONG=1 runs it")
	}
	if !emulator.Rerun(t, emulator.Config{Order: 7}) {
		conformWithSmallSteps(t)
	}
}

func conformWithSmallSteps(t *testing.T) {
	devicetest.RunInPlace(t, func(t *testing.T) device.DenseDevice {
		b := mustOpen(t)
		b.(*Device).sizes = sizes{fill: 96, factor: 80, symm: 48, leaf: 32, panel: 64, gemm: 1e6}
		return b
	})
}

// TestConformanceMerged runs the suite of methods on the different rows of a table, which need no kernels of
// their own.
func TestConformanceMerged(t *testing.T) {
	needDevice(t)
	if realDevice == "" && !testcheck.Long() {
		t.Skip("the method merged has no code for devices; GPFIT_LONG=1 runs it")
	}
	t.Parallel()
	devicetest.Run(t, func(t *testing.T) device.Backend {
		return testcheck.Get(merged.Method{}.Backends([]device.Device{mustOpen(t)}))(t)[0]
	})
}

func TestProbe(t *testing.T) {
	emulator.Need(t)
	found := Driver{}.Probe(context.Background())
	if len(found) != 1 || found[0].Name != "cuda:0" || !found[0].Usable || !strings.Contains(found[0].Detail, "compute capability 9.0") {
		t.Errorf("found %+v", found)
	}
	for _, name := range []string{"cuda", "cuda:x", "cuda:-1", "cuda:7"} {
		_, err := Driver{}.Open(context.Background(), name, device.Options{})
		var ue *device.UnavailableError
		if !errors.As(err, &ue) || ue.Device != name {
			t.Errorf("Open %q: error %v, want an UnavailableError", name, err)
		}
	}
}

// TestOwnKernel fits with a user-defined covariance function, written in Go without a
// derivative, and with a formula, and compares the GPU with the CPU.
func TestOwnKernel(t *testing.T) {
	sech := &kernel.Family{
		Name: "sech", Parameters: []kernel.Parameter{{Name: "lengthscale", Kind: kernel.Lengthscale, Count: kernel.PerColumn}},
		Function: func(p *kernel.Pair) *kernel.Node {
			r := p.Distance("lengthscale")
			return p.Div(p.Scale(2, p.Exp(p.Neg(r))), p.Add(p.Number(1), p.Exp(p.Scale(-2, r))))
		},
	}
	gpu := mustOpen(t)
	defer gpu.Close()
	host := testcheck.Get(cpu.New(device.Options{}))(t)
	defer host.Close()
	const n = 40
	d := problem.Data{N: n, D: 2, FeatureNames: []string{"a", "b"}, TargetName: "y"}
	for i := range n {
		a, b := 3*math.Sin(float64(i)), 2*math.Cos(1.7*float64(i))
		d.X, d.Y = append(d.X, a, b), append(d.Y, math.Sin(a)*math.Cosh(b/2)+0.1*math.Sin(77*float64(i)))
	}
	texts := []string{"sech(ard)", "formula((1 + r2/a)^(-g)*exp(-tanh(r)), a=2, g=1, ard) + matern(3.5)"}
	if testcheck.Long() {
		texts = append(texts, "sech*periodic + linear", "formula(exp(-r/a) * cos(2*pi*r/b), a=1, b=4)")
	}
	for _, text := range texts {
		var nlml [2]float64
		for i, b := range []device.Backend{host, device.Dense{}.On(gpu)} {
			opts := problem.Options{Mean: "zero", Kernel: text, Kernels: []*kernel.Family{sech}, Posterior: problem.NoPosterior, Settings: hyperopt.Settings{ToleranceNats: -1}}
			job := testcheck.Get(fit.Prepare(d, opts, problem.Events{}))(t)
			nlml[i] = testcheck.Get(fit.Run(context.Background(), job, b))(t).Report.NLML
		}
		// Two searches end within about 1e-9 nats of the optimum.
		if math.Abs(nlml[0]-nlml[1]) > 1e-9*math.Abs(nlml[0]) {
			t.Errorf("%s: NLML %v on the CPU, %v on the GPU", text, nlml[0], nlml[1])
		}
	}
}
