package mpi_test

import (
	"fmt"
	"os"
	"os/exec"
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
