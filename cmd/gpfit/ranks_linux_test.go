package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/testcheck"
)

// mpirun returns a command that starts gpfit on two ranks, or skips the test if it cannot. Ranks that wait leave their core
// to others.
func mpirun(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("mpirun")
	if err != nil {
		missing := "there is no mpirun: install openmpi-bin and libscalapack-openmpi2.2"
		if os.Getenv("GPFIT_MPI_REQUIRED") == "1" {
			t.Fatal(missing)
		}
		t.Skip("SKIPPED: " + missing)
	}
	cmd := exec.Command(path, append([]string{"--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--bind-to", "none", "-n", "2", "gpfit"}, args...)...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "OPENBLAS_NUM_THREADS=1")
	return cmd
}

// writeRows writes a table.
func writeRows(t *testing.T, n int) string {
	rng := rand.New(rand.NewPCG(31, uint64(n)))
	var text strings.Builder
	text.WriteString("a,b,y\n")
	for range n {
		a, b := 10*rng.Float64(), 5*rng.Float64()
		fmt.Fprintf(&text, "%g,%g,%g\n", a, b, math.Sin(a)+0.3*math.Cos(2*b)+0.1*rng.NormFloat64())
	}
	return write(t, t.TempDir(), "rows.csv", text.String())
}

// optimum is the optimum of a fit.
type optimum struct {
	NLML       float64
	Parameters map[string]float64
	Method     string
}

func optimumOf(t *testing.T, cmd *exec.Cmd) (o optimum) {
	t.Helper()
	code, stdout, stderr := end(t, cmd)
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	testcheck.Do(t, json.Unmarshal([]byte(stdout), &o))
	return o
}

// TestRanks fits on two ranks of MPI. They find the optimum of one process, and all ranks end with the exit code of rank 0,
// which alone prints.
func TestRanks(t *testing.T) {
	t.Parallel()
	n := 150
	if testcheck.Long() {
		n = 2000
	}
	rows := writeRows(t, n)
	args := []string{"fit", rows, "--kernel", "rbf(ard)", "--json", "--quiet", "--force", "--out", rows + ".gpfit"}
	want := optimumOf(t, exec.Command("gpfit", args...))
	got := optimumOf(t, mpirun(t, append(args, "--method", "mpi")...))
	if got.Method != "mpi" || math.Abs(got.NLML-want.NLML) > 1e-8*math.Abs(want.NLML) {
		t.Errorf("two ranks: %+v, one process: %+v", got, want)
	}
	for name, v := range want.Parameters {
		if math.Abs(got.Parameters[name]/v-1) > 1e-5 {
			t.Errorf("%s = %v, one process %v", name, got.Parameters[name], v)
		}
	}
	alone := optimumOf(t, exec.Command("gpfit", append(args, "--method", "mpi")...))
	if math.Abs(alone.NLML-want.NLML) > 1e-8*math.Abs(want.NLML) {
		t.Errorf("without a launcher: %+v, the method chosen: %+v", alone, want)
	}
	for _, one := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"fit", rows}, exit.Usage, "a launcher has started 2 processes"},
		{[]string{"fit", "none.csv", "--method", "mpi"}, exit.Data, "none.csv: no such file"},
		{[]string{"fit", rows, "--method", "mpi", "--objective", "loo"}, exit.Usage, "leave-one-out; the method dense does"},
		{[]string{"version"}, 0, "gpfit "},
	} {
		code, stdout, stderr := end(t, mpirun(t, one.args...))
		if code != one.code || strings.Count(stdout+stderr, one.says) != 1 {
			t.Errorf("%v: exit code %d, want %d and once %q\n%s%s", one.args, code, one.code, one.says, stdout, stderr)
		}
	}
}

// TestRanksKilled kills a rank at random moments, which ends the others, and asks for a stop by SIGUSR1. The fit that
// continues finds the optimum of an undisturbed fit. A moment is a size of the checkpoint: a time would be too late or too
// early on a machine whose load changes.
func TestRanksKilled(t *testing.T) {
	t.Parallel()
	kills := 1
	if testcheck.Long() {
		kills = 20
	}
	dir, rows := t.TempDir(), writeRows(t, 400)
	args := func(checkpoint string) []string {
		return []string{"fit", rows, "--kernel", "rbf(ard)", "--restarts", "3", "--method", "mpi", "--json", "--quiet", "--force", "--out", rows + ".gpfit", "--checkpoint", filepath.Join(dir, checkpoint)}
	}
	want := optimumOf(t, mpirun(t, args("undisturbed")...))
	rng, killed, stopped, longest := rand.New(rand.NewPCG(5, 5)), 0, false, time.Duration(0)
	for !stopped {
		cmd := mpirun(t, args("killed")...)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		before, step := sizeOf(filepath.Join(dir, "killed")), 1+rng.Int64N(8000)
		testcheck.Do(t, cmd.Start())
		var done atomic.Bool
		go func() {
			_ = cmd.Wait() // the test checks the exit code
			done.Store(true)
		}()
		eventually(t, "the checkpoint grows, or the fit ends", 2*time.Minute, func() bool {
			return done.Load() || sizeOf(filepath.Join(dir, "killed")) >= before+step
		})
		want := exit.Interrupted
		if ranks := children(cmd.Process.Pid); killed == kills {
			_ = cmd.Process.Signal(syscall.SIGUSR1)
		} else if want = 128 + int(syscall.SIGKILL); len(ranks) == 2 {
			_ = syscall.Kill(ranks[rng.IntN(2)], syscall.SIGKILL)
		}
		at := time.Now()
		eventually(t, "the fit ends", 2*time.Minute, done.Load)
		switch code := cmd.ProcessState.ExitCode(); {
		case code == 0: // the fit had ended, and the next one starts over
		case code != want:
			t.Fatalf("after %d kills: exit code %d, want %d\n%s", killed, code, want, &said)
		case killed < kills:
			killed, longest = killed+1, max(longest, time.Since(at))
		default:
			stopped = true
		}
	}
	t.Logf("%d ranks killed, after which the others ended within %v", killed, longest.Round(time.Millisecond))
	if d := cmp.Diff(want, optimumOf(t, mpirun(t, args("killed")...))); d != "" {
		t.Errorf("undisturbed (-), continued (+):\n%s", d)
	}
}

// sizeOf returns the size of a file, 0 if there is none.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// children returns the processes that a process has started.
func children(pid int) (all []int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, f := range strings.Fields(string(text)) {
		child, _ := strconv.Atoi(f)
		all = append(all, child)
	}
	return all
}

// TestRanksOfSlurm evaluates on two tasks of a step.
func TestRanksOfSlurm(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	mpirun(t) // skips without MPI
	if found, _ := filepath.Glob("/usr/lib/*/pmix2/lib/libpmix.so"); found == nil {
		t.Skip("SKIPPED: srun needs libpmix-dev to start ranks of MPI")
	}
	startSlurm(t)
	rows := writeRows(t, 300)
	want := optimumOf(t, exec.Command("gpfit", "nlml", rows, "--kernel", "rbf", "--json"))
	for _, one := range []struct {
		args []string
		code int
	}{
		{[]string{"--method", "mpi", "--json"}, 0},
		{[]string{"--method", "mpi", "--kernel", "fbr"}, exit.Usage},
		{[]string{"--json"}, exit.Usage},
	} {
		cmd := exec.Command("srun", append([]string{"-n", "2", "-K1", "--mpi=pmix", "gpfit", "nlml", rows, "--kernel", "rbf"}, one.args...)...)
		cmd.Env = append(os.Environ(), "OMPI_MCA_mpi_yield_when_idle=1", "GOMAXPROCS=1")
		code, stdout, stderr := end(t, cmd)
		if code != one.code {
			t.Errorf("%v: exit code %d, want %d\n%s", one.args, code, one.code, stderr)
		}
		if code == 0 {
			var got optimum
			testcheck.Do(t, json.Unmarshal([]byte(stdout), &got))
			if math.Abs(got.NLML-want.NLML) > 1e-10*math.Abs(want.NLML) {
				t.Errorf("NLML %v, one process %v", got.NLML, want.NLML)
			}
		}
	}
}

// TestRanksDiffer starts rank 1 with another table, another kernel, an option by a variable, or other contents of the table.
// That ends the program with the rank and what differs. A table that rank 1 does not see, or its own old model, is no difference.
func TestRanksDiffer(t *testing.T) {
	t.Parallel()
	dir, rows := t.TempDir(), string(testcheck.Get(os.ReadFile(writeRows(t, 60)))(t))
	for path, text := range map[string]string{"0/t.csv": rows, "0/m.gpfit": "", "same/t.csv": rows, "same/m.gpfit": "an older model", "other/t.csv": rows + "1,2,3\n", "none/x": ""} {
		testcheck.Do(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o700))
		write(t, dir, path, text)
	}
	fit := []string{"fit", "t.csv", "--method", "mpi", "--kernel", "rbf", "--restarts", "0", "--quiet", "--force", "--out", "m.gpfit"}
	for _, one := range []struct {
		folder, variable, kernel, says string
	}{
		{"same", "GPFIT_MPI_BLOCK=100", "rbf", ""}, {"none", "GPFIT_MPI_BLOCK=100", "rbf", ""},
		{"other", "A=1", "rbf", "rank 1: the file t.csv differs from rank 0"}, {"same", "A=1", "matern32", "rank 1: the command line differs from rank 0"},
		{"same", "GPFIT_MAX_EVALS=3", "rbf", "rank 1: the variable GPFIT_MAX_EVALS differs from rank 0"},
	} {
		args := append([]string{"--wdir", filepath.Join(dir, "0")}, append([]string{"gpfit"}, fit...)...)
		args = append(args, ":", "-n", "1", "--wdir", filepath.Join(dir, one.folder), "env", one.variable, "gpfit")
		args = append(args, strings.Split(strings.ReplaceAll(strings.Join(fit, " "), "rbf", one.kernel), " ")...)
		cmd := mpirun(t)
		at := slices.Index(cmd.Args, "2") // of -n 2 gpfit
		cmd.Args = append(append(cmd.Args[:at:at], "1"), args...)
		code, stdout, stderr := end(t, cmd)
		if one.says == "" && code != 0 || one.says != "" && (code != exit.Device || !strings.Contains(stderr, one.says)) {
			t.Errorf("%+v: exit code %d\n%s%s", one, code, stdout, stderr)
		}
	}
}
