package cuda

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"gpfit/device"
	"gpfit/device/devicetest"
	"gpfit/internal/cuda/emulator"
	"gpfit/internal/kerneltest"
	"gpfit/internal/must"
	"gpfit/kernel"
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
	return must.Get(openDevice(name))(t)
}

func TestConformance(t *testing.T) {
	needDevice(t)
	if realDevice == "" && !emulator.Long() {
		t.Skip("small steps take every path that this takes; GPFIT_EMU_LONG=1 runs both")
	}
	t.Parallel()
	devicetest.RunInPlace(t, mustOpen)
}

// TestConformanceSmallSteps runs the code paths of large matrices at small n.
func TestConformanceSmallSteps(t *testing.T) {
	needDevice(t)
	t.Parallel()
	devicetest.RunInPlace(t, func(t *testing.T) device.DenseDevice {
		b := mustOpen(t)
		b.(*Device).sizes = sizes{fill: 96, factor: 80, symm: 48, leaf: 32, panel: 64, gemm: 1e6}
		return b
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

// TestResidual checks that a correct factor passes and a wrong one does not.
func TestResidual(t *testing.T) {
	b := mustOpen(t)
	defer b.Close()
	const n = 300
	rows := make([]float64, 2*n)
	for i := range rows {
		rows[i] = math.Sin(float64(i * i))
	}
	prog := kerneltest.Program(t, "matern32(ard)", 2)
	ctx := context.Background()
	ws := must.Get(b.NewWorkspace(ctx, kernel.NewPoints(rows, n, 2)))(t)
	defer ws.Close()
	w := ws.(*Workspace)
	if _, err := w.Residual(ctx); !errors.Is(err, device.ErrStage) {
		t.Errorf("before Factor: error %v", err)
	}
	must.Do(t, errors.Join(w.Fill(ctx, prog, []float64{1, 2, 1}, []float64{0.01}), w.Factor(ctx)))
	if r, err := w.Residual(ctx); err != nil || !(r < 1e-11) || r == 0 {
		t.Errorf("residual %v, error %v", r, err)
	}
	l := make([]float64, n)
	must.Do(t, w.ReadFactor(200, 201, l))
	l[100] += 0.1
	must.Do(t, w.WriteFactor(200, 201, l))
	w.stage = stageFactored
	if r, err := w.Residual(ctx); err != nil || !(r > 1e-6) {
		t.Errorf("residual %v of a wrong factor, error %v", r, err)
	}
}
