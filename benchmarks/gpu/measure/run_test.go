package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/internal/cuda/emulator"
	"gpfit/internal/must"
)

// Shell scripts that replace the other programs that run.py calls.
const (
	fakeGpfit = `#!/bin/sh
case $1 in
version) echo gpfit for a test;;
devices) [ -z "$FAKE_NO_GPU" ] || { echo "no driver at all" >&2; exit 12; };;
bench) echo '{"type":"bench","device":"'$5'","n":40,"seconds_value":1,"seconds_value_gradient":2,"predict_rows_per_second":3,"nlml":4}';;
fit) echo "not this time" >&2; exit 11;;
esac
`
	fakeSuite = `#!/bin/sh
case $FAKE_SUITE in
hang) trap '' INT TERM; sleep 100 & wait; sleep 100;;
fail) echo '    --- FAIL: TestConformance/Factor (0.00s)'; echo '        cuda_test.go:1: wrong'; exit 1;;
esac
[ "$GPFIT_TEST_DEVICE" = cuda:0 ] || exit 1
printf -- '--- PASS: TestConformance (1s)\n    --- PASS: TestConformance/Factor (1s)\n'
`
)

// runScript runs run.py with a folder of programs and returns its exit code, its
// output and its records.
func runScript(t *testing.T, env []string, args ...string) (code int, text, records string) {
	t.Helper()
	emulator.Need(t)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED, no python3")
	}
	self := must.Get(os.Executable())(t)
	programs, out := t.TempDir(), t.TempDir()
	for name, script := range map[string]string{
		"gpfit": fakeGpfit, "cuda.test": fakeSuite,
		"measure": "#!/bin/sh\n" + programVariable + "=1 exec '" + self + "' \"$@\"\n",
	} {
		must.Do(t, os.WriteFile(filepath.Join(programs, name), []byte(script), 0o755))
	}
	cmd := exec.Command(python, append([]string{"-B", "../run.py", "--scale", "0.003", "--programs", programs, "--out", out}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	printed, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(out, "*.jsonl"))
	if len(files) == 1 {
		b := must.Get(os.ReadFile(files[0]))(t)
		records = string(b)
	}
	return cmd.ProcessState.ExitCode(), string(printed), records
}

// TestScript runs all steps; TestScriptGoesOn runs some of them in a tenth of the time.
func TestScript(t *testing.T) {
	if os.Getenv("GPFIT_LONG") == "" {
		t.Skip("SKIPPED: takes ten seconds; GPFIT_LONG=1 runs it")
	}
	t.Parallel()
	code, text, records := runScript(t, nil, "--skip", "fit,gpytorch")
	if code != 0 {
		t.Fatalf("exit code %d:\n%s", code, text)
	}
	for kind, count := range map[string]int{"machine": 1, "kernels": 1 + 4*len(functions), "conformance": 1, "agree": 5 * len(agreeKernels()), "stages": 6, "dgemm": 6, "residual": 3, "bench": 2, "largest": 1, "skipped": 1, "end": 1, "failure": 0} {
		if found := parse(t, kind, records); len(found) != count {
			t.Errorf("%d records of type %s, expected %d", len(found), kind, count)
		}
	}
	for _, row := range []string{"| residual, n = 300 |", "| conformance suite, cuda.test | 2 passed, 0 failed | 0 failed | yes |", "| times faster than the CPU of the machine, n = 40 |"} {
		if !strings.Contains(text, row) {
			t.Errorf("no %q in the table:\n%s", row, text)
		}
	}
}

func TestScriptWithoutGPU(t *testing.T) {
	t.Parallel()
	code, text, records := runScript(t, []string{"FAKE_NO_GPU=1"})
	if code != 3 || !strings.Contains(text, "no usable GPU: exit code 12: no driver at all") || len(parse(t, "failure", records)) != 1 {
		t.Errorf("exit code %d:\n%s", code, text)
	}
}

// TestScriptGoesOn checks that a failing step is reported and the next step runs.
func TestScriptGoesOn(t *testing.T) {
	t.Parallel()
	code, text, records := runScript(t, []string{"FAKE_SUITE=fail"}, "--only", "conformance,dgemm,fit", "--data", t.TempDir())
	if code != 1 || len(parse(t, "dgemm", records)) != 6 || !strings.Contains(text, "FAILED  conformance: cuda.test: TestConformance/Factor") ||
		!strings.Contains(text, "cuda_test.go:1: wrong") || len(parse(t, "failure", records)) != 2 {
		t.Errorf("exit code %d:\n%s", code, text)
	}
}

// TestScriptHang checks that a program that ignores signals is killed and the next step runs.
func TestScriptHang(t *testing.T) {
	if os.Getenv("GPFIT_LONG") == "" {
		t.Skip("SKIPPED: takes ten seconds; GPFIT_LONG=1 runs it")
	}
	t.Parallel()
	code, text, records := runScript(t, []string{"FAKE_SUITE=hang"}, "--only", "conformance,dgemm", "--limit", "3")
	if code != 1 || len(parse(t, "dgemm", records)) != 6 || !strings.Contains(text, "stopped at its time limit") {
		t.Errorf("exit code %d:\n%s", code, text)
	}
}

func TestScriptUsage(t *testing.T) {
	t.Parallel()
	if code, text, _ := runScript(t, nil, "--only", "speeed"); code != 2 || !strings.Contains(text, "no step 'speeed'") {
		t.Errorf("exit code %d:\n%s", code, text)
	}
	if code, text, _ := runScript(t, nil, "--programs", t.TempDir()); code != 2 || !strings.Contains(text, "build.sh") {
		t.Errorf("exit code %d:\n%s", code, text)
	}
}
