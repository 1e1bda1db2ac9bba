package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/device/cuda/emulator"
	"gpfit/device/cuda/ptx"
	"gpfit/internal/testcheck"
)

// Shell scripts that replace the other programs that run.py calls.
const (
	fakeGpfit = `#!/bin/sh
[ -z "$FAKE_GPFIT" ] || exec "$FAKE_GPFIT" "$@"
case $1 in
version) echo gpfit for a test;;
devices) [ -z "$FAKE_NO_GPU" ] || { echo "no driver at all" >&2; exit 12; };;
bench) echo '{"type":"bench","device":"'$5'","n":40,"seconds_value":1,"seconds_value_gradient":2,"predict_rows_per_second":3,"nlml":4}';;
batch)
  [ "$FAKE_FAILS" != "$8" ] || { echo "not this time" >&2; exit 11; }
  nlml=1; [ "$FAKE_DIFFERS" != "$8" ] || nlml=2
  mkdir -p "$4"; echo $nlml >"$4/nlml"; grep -o 'seeds.*' "$2" | tr , '\n' | wc -l >"$4/jobs"
  grep -o 'device: [^,]*' "$2" | tr -d "'" | cut -c 9- | sed s/auto/cuda:0/ >"$4/device";;
show)
  cd "$2" && for i in $(seq $(cat jobs)); do
    echo '{"type":"job","state":"done","job":"'$i'","device":"'$(cat device)'","nlml":'$(cat nlml)',"gradient_evaluations":2}'
  done;;
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
	// A card that draws 200 W.
	fakeSMI = `#!/bin/sh
[ -n "$FAKE_SMI" ] || exit 1
case "$*" in
*-lms*) while :; do echo "$(date '+%Y/%m/%d %H:%M:%S.%3N'), 200.00"; sleep 0.1; done;;
*) echo 200.00;;
esac
`
)

// python returns the Python that runs the scripts. TORCH_PYTHON names one with PyTorch
// and GPyTorch.
func python(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath(cmp.Or(os.Getenv("TORCH_PYTHON"), "python3"))
	if err != nil {
		t.Skip("SKIPPED, no python3")
	}
	return path
}

// runScript runs run.py with a folder of programs and returns its exit code, its
// output and its records.
func runScript(t *testing.T, env []string, args ...string) (code int, text, records string) {
	t.Helper()
	emulator.Need(t)
	self := testcheck.Get(os.Executable())(t)
	programs, out := t.TempDir(), t.TempDir()
	for name, script := range map[string]string{
		"gpfit": fakeGpfit, "cuda.test": fakeSuite, "nvidia-smi": fakeSMI,
		"measure": "#!/bin/sh\n" + programVariable + "=1 exec '" + self + "' \"$@\"\n",
	} {
		testcheck.Do(t, os.WriteFile(filepath.Join(programs, name), []byte(script), 0o755))
	}
	cmd := exec.Command(python(t), append([]string{"-B", "-W", "ignore", "../run.py", "--scale", "0.003", "--programs", programs, "--out", out}, args...)...)
	cmd.Env = append(append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH")), env...)
	printed, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(out, "*.jsonl"))
	if len(files) == 1 {
		b := testcheck.Get(os.ReadFile(files[0]))(t)
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
	code, text, records := runScript(t, nil, "--skip", "gpytorch")
	if code != 0 {
		t.Fatalf("exit code %d:\n%s", code, text)
	}
	for kind, count := range map[string]int{"machine": 1, "kernels": 1 + len(ptx.Entries())*len(functions), "conformance": 1, "agree": 5 * len(agreeKernels()), "stages": 6, "dgemm": 6, "residual": 3, "largest": 1, "skipped": 1, "end": 1, "failure": 0} {
		if found := parse(t, kind, records); len(found) != count {
			t.Errorf("%d records of type %s, expected %d", len(found), kind, count)
		}
	}
	for _, row := range []string{"| residual, n = 300 |", "| conformance suite, cuda.test | 2 passed, 0 failed | 0 failed | yes |"} {
		if !strings.Contains(text, row) {
			t.Errorf("no %q in the table:\n%s", row, text)
		}
	}
}

// need checks that the records of a type have the fields that the tables show.
func need(t *testing.T, records, kind string, least int, fields ...string) []map[string]any {
	t.Helper()
	found := parse(t, kind, records)
	if len(found) < least {
		t.Errorf("%d records of type %s, expected %d", len(found), kind, least)
	}
	for _, r := range found {
		for _, name := range fields {
			if r[name] == nil {
				t.Errorf("no %s in %v", name, r)
			}
		}
	}
	return found
}

// TestParts runs the parts on the emulated GPU without PyTorch.
func TestParts(t *testing.T) {
	t.Parallel()
	without, counters := t.TempDir(), t.TempDir()
	testcheck.Do(t, os.WriteFile(filepath.Join(without, "torch.py"), []byte("raise ImportError('none for the test')"), 0o644))
	zone := filepath.Join(counters, "intel-rapl:0")
	testcheck.Do(t, os.Mkdir(zone, 0o755))
	for name, text := range map[string]string{"name": "package-0\n", "energy_uj": "5000000\n", "max_energy_range_uj": "9000000\n"} {
		testcheck.Do(t, os.WriteFile(filepath.Join(zone, name), []byte(text), 0o644))
	}
	code, text, records := runScript(t, []string{"FAKE_SMI=1", "FAKE_FAILS=4", "FAKE_DIFFERS=16", "PYTHONPATH=" + without},
		"--quick", "--only", "batch,steps,curve,peers,fits,energy", "--powercap", counters)
	if code != 1 {
		t.Fatalf("exit code %d:\n%s", code, text)
	}
	need(t, records, "machine", 1, "nvidia_smi", "cpu", "cpus", "packages", "build")
	for _, r := range need(t, records, "batch", 7, "variant", "device", "processes", "n", "jobs", "seconds", "jobs_on", "jobs_per_second", "gradients_per_second") {
		if r["jobs_done"] != 8.0 || r["same_results"] != (r["variant"] != "16 lanes") {
			t.Errorf("%v", r)
		}
	}
	need(t, records, "steps", 1, "n", "seconds", "seconds_large", "times_faster")
	need(t, records, "crossover", 2, "kernel", "d", "smallest", "largest", "times_faster")
	need(t, records, "stages", 8, "step", "kernel", "d", "n", "device", "seconds_value_gradient", "began", "ended")
	energies := need(t, records, "energy", 2, "device", "n", "evaluations", "seconds", "joules", "joules_per_evaluation", "watts", "source", "gpu_samples", "cpu_samples")
	if watts := number(t, energies[0], "watts"); energies[0]["device"] != "cuda:0" || math.Abs(watts-200) > 1e-6 {
		t.Errorf("%v", energies[0])
	}
	need(t, records, "skipped", 1, "why")
	for _, part := range []string{
		"FAILED  batch: batch of n = 40, 4 lanes: exit code 11: not this time", "other results on the same device", "FAILED  fits: SKIPPED: no --data", "torch or gpytorch is not installed",
		"| n | 1 lane | 16 lanes | 64 lanes | chosen lanes | no lock step | 4 processes | cores | card and cores |", "| rbf(ard) | 26 |", "nvidia-smi power.draw.instant",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

// TestTilesPart runs the part that measures tiles, on two devices and on one.
func TestTilesPart(t *testing.T) {
	t.Parallel()
	code, text, records := runScript(t, nil, "--only", "tiles", "--scale", "0.002")
	if code != 0 {
		t.Fatalf("exit code %d:\n%s", code, text)
	}
	found := need(t, records, "tiles", 13, "way", "device", "n", "seconds_value_gradient", "gflops", "order", "tiles", "tiles_on_host", "loaded_bytes", "residual", "nlml_difference")
	ways := map[string]int{}
	for _, r := range found {
		ways[fmt.Sprint(r["way"], " on ", r["device"], ", n = ", r["n"])]++
	}
	want := []string{"tiles on cuda:0, n = 40", "host on cuda:0, n = 80", "tiles on cuda:0, n = 376", "tiles on cuda:0,cuda:1, n = 80", "host on cuda:0,cuda:1, n = 40"}
	for _, one := range want {
		if ways[one] != 1 {
			t.Errorf("%d measurements of %s in\n%s", ways[one], one, text)
		}
	}
	if !strings.Contains(text, "| n | device | way | s | GFLOP/s |") {
		t.Errorf("no table in\n%s", text)
	}
	code, text, records = runScript(t, []string{"GPFIT_EMU_DEVICES=1"}, "--only", "tiles", "--quick")
	if skipped := need(t, records, "skipped", 1, "why"); code != 0 || !strings.Contains(fmt.Sprint(skipped), "cuda:1") {
		t.Errorf("exit code %d: %v\n%s", code, skipped, text)
	}
}

// TestWhole runs all parts with gpfit itself on the emulated GPU, and with PyTorch if it is there.
func TestWhole(t *testing.T) {
	if os.Getenv("GPFIT_LONG") == "" {
		t.Skip("SKIPPED: builds gpfit and takes a minute; GPFIT_LONG=1 runs it")
	}
	t.Parallel()
	data, gpfit := t.TempDir(), filepath.Join(t.TempDir(), "gpfit")
	if out, err := exec.Command("go", "build", "-o", gpfit, "gpfit/cmd/gpfit").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"elevators", "kin40k"} {
		var table, mask strings.Builder
		for i := range 60 {
			x := float64(i) / 7
			fmt.Fprintf(&table, "%v,%v,1,%v\n", x, math.Cos(3*x), math.Sin(x)+0.05*math.Cos(float64(i*i)))
			fmt.Fprintf(&mask, "%d,0\n", i%10/9)
		}
		testcheck.Do(t, os.Mkdir(filepath.Join(data, name), 0o755))
		testcheck.Do(t, os.WriteFile(filepath.Join(data, name, "data.csv"), []byte(table.String()), 0o644))
		testcheck.Do(t, os.WriteFile(filepath.Join(data, name, "test_mask.csv"), []byte(mask.String()), 0o644))
	}
	code, text, records := runScript(t, []string{"FAKE_GPFIT=" + gpfit, "FAKE_SMI=1", "XDG_CACHE_HOME=" + t.TempDir()}, "--quick", "--only", "parts", "--data", data, "--peer-device", "cpu", "--powercap", data)
	if code != 0 {
		t.Fatalf("exit code %d:\n%s", code, text)
	}
	for _, r := range need(t, records, "batch", 8) {
		if r["jobs_done"] != 8.0 || r["same_results"] != true {
			t.Errorf("%v", r)
		}
	}
	need(t, records, "fit", 2, "nlml", "seconds", "evaluations", "test")
	own := need(t, records, "predictions", 1, "engine", "n", "rows", "seconds_predict")
	if own[0]["engine"] != "gpfit" {
		t.Errorf("%v", own)
	}
	if strings.Contains(text, "torch or gpytorch is not installed") {
		t.Log("SKIPPED, no PyTorch: TORCH_PYTHON names a Python with it")
		return
	}
	need(t, records, "predictions", 3)
	need(t, records, "peer", 15, "engine", "kernel", "d", "n", "problems", "seconds", "nlml", "gradient_log", "torch")
	for _, r := range need(t, records, "agreement", 18, "engine", "kernel", "n", "nlml_difference", "gradient_difference") {
		if r["ok"] != true {
			t.Errorf("%v", r)
		}
	}
	for _, r := range need(t, records, "within", 6, "dataset", "engine", "optimizer", "target", "best", "stopped", "seconds_within", "gpfit_seconds", "evaluations") {
		if r["ok"] != true {
			t.Errorf("%v", r)
		}
	}
}

// TestPython runs the tests of the Python files.
func TestPython(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(python(t), "-B", "-W", "ignore", "test_parts.py")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
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
	code, text, records := runScript(t, []string{"FAKE_SUITE=fail"}, "--only", "conformance,dgemm,fits", "--data", t.TempDir())
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

// TestCard runs the script with the programs of a machine with a card, on the emulated one, as continuous integration does:
// the conformance suite does not ask for the emulator, the steps come in the user's order, and --n and --ways limit them.
func TestCard(t *testing.T) {
	if os.Getenv("GPFIT_CARD") == "" {
		t.Skip("SKIPPED: builds all programs; GPFIT_CARD=1 runs it")
	}
	emulator.Need(t)
	testcheck.Do(t, os.Unsetenv("GPFIT_CARD")) // gpfit knows no such variable
	programs, out := t.TempDir(), t.TempDir()
	for _, args := range [][]string{
		{"build", "-o", filepath.Join(programs, "gpfit"), "./cmd/gpfit"}, {"test", "-c", "-o", filepath.Join(programs, "cuda.test"), "./device/cuda"},
	} {
		build := exec.Command("go", args...)
		build.Dir = "../../.."
		if text, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	self := testcheck.Get(os.Executable())(t)
	testcheck.Do(t, os.WriteFile(filepath.Join(programs, "measure"), []byte("#!/bin/sh\n"+programVariable+"=1 exec '"+self+"' \"$@\"\n"), 0o755))
	cmd := exec.Command(python(t), "-B", "../run.py", "--programs", programs, "--out", out, "--budget", "500", "--n", "600", "--ways", "chosen,1 lane", "--only", "steps,agree,conformance")
	cmd.Env = emulator.Env(t, emulator.Config{Memory: 8 << 30})
	printed, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, printed)
	}
	files, _ := filepath.Glob(filepath.Join(out, "*.jsonl"))
	if len(files) != 1 {
		t.Fatalf("files %v", files)
	}
	records := string(testcheck.Get(os.ReadFile(files[0]))(t))
	var order []string
	for _, r := range append(append(parse(t, "stages", records), parse(t, "agree", records)...), parse(t, "conformance", records)...) {
		if step := r["step"].(string); len(order) == 0 || order[len(order)-1] != step {
			order = append(order, step)
		}
		if n, ok := r["n"]; ok && n != 600.0 {
			t.Errorf("a record of n = %v", n)
		}
	}
	if strings.Join(order, " ") != "steps agree conformance" || strings.Index(records, `"step": "steps"`) > strings.Index(records, `"step": "agree"`) {
		t.Errorf("the steps ran in another order: %v", order)
	}
	if c := parse(t, "conformance", records); len(c) != 1 || c[0]["ok"] != true {
		t.Errorf("conformance: %v", c)
	}
	t.Logf("%s", printed)
}
