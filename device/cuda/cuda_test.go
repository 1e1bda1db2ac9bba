package cuda

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"gpfit/device"
	"gpfit/device/devicetest"
	"gpfit/internal/cuda/emulator"
	"gpfit/internal/must"
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
