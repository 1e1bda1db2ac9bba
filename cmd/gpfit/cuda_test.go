package main

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/fit/summary"
	"gpfit/internal/cuda/emulator"
	"gpfit/internal/must"
)

// gpu runs the program on an emulated GPU.
type gpu struct {
	binary, cache string
}

func newGPU(t *testing.T) *gpu {
	t.Helper()
	emulator.Build(t)
	return &gpu{binary: program(t), cache: t.TempDir()}
}

// run returns the exit code and both outputs.
func (g *gpu) run(t *testing.T, faults []emulator.Fault, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return g.runOn(t, emulator.Config{Faults: faults}, args...)
}

func (g *gpu) runOn(t *testing.T, machine emulator.Config, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, msg strings.Builder
	cmd := exec.Command(g.binary, args...)
	cmd.Env = append(emulator.Env(t, machine), "XDG_CACHE_HOME="+g.cache)
	cmd.Stdout, cmd.Stderr = &out, &msg
	err := cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		code = ended.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return code, out.String(), msg.String()
}

func (g *gpu) report(t *testing.T, faults []emulator.Fault, args ...string) (r summary.Report, stderr string) {
	t.Helper()
	code, stdout, stderr := g.run(t, faults, append(args, "--json")...)
	if code != 0 {
		t.Fatalf("gpfit %s: exit code %d\n%s", strings.Join(args, " "), code, stderr)
	}
	must.Do(t, json.Unmarshal([]byte(stdout), &r))
	return r, stderr
}

// TestGPU runs the command line on an emulated GPU, from the choice of the
// device to a device that dies in the middle of a fit.
func TestGPU(t *testing.T) {
	t.Setenv("GPFIT_FORCE", "true") // the commands write one model after another
	g := newGPU(t)
	data, model := "../../examples/co2.csv", filepath.Join(t.TempDir(), "m.gpfit")
	few := filepath.Join(t.TempDir(), "few.csv")
	text := must.Get(os.ReadFile(data))(t)
	lines := strings.SplitAfter(string(text), "\n")
	must.Do(t, os.WriteFile(few, []byte(strings.Join(lines[:85], "")), 0o644))

	if code, stdout, _ := g.run(t, nil, "devices"); code != 0 || !strings.Contains(stdout, "cuda:0    found") || !strings.Contains(stdout, "--device auto tries cuda:0") {
		t.Errorf("devices: exit code %d\n%s", code, stdout)
	}
	g.testDevices(t)
	// The crossover is known: measuring it on the emulated device would take minutes.
	g.knowCrossover(t, 100)
	if _, stderr := g.report(t, nil, "nlml", few); !strings.Contains(stderr, "device cpu") || !strings.Contains(stderr, "cuda:0 pays off from n = 100 on, but this job has n = 80") {
		t.Errorf("a small job on auto: %s", stderr)
	}
	if r, stderr := g.report(t, nil, "nlml", data); r.Device != "cuda:0" {
		t.Errorf("a larger job on auto: device %s\n%s", r.Device, stderr)
	}

	onCPU, _ := g.report(t, nil, "fit", few, "--ard", "--device", "cpu", "--out", model)
	onGPU, _ := g.report(t, nil, "fit", few, "--ard", "--device", "cuda:0", "--out", model)
	if onGPU.Device != "cuda:0" || math.Abs(onGPU.NLML-onCPU.NLML) > 1e-6*math.Abs(onCPU.NLML) || onGPU.Status != onCPU.Status {
		t.Errorf("fit on the GPU: %s, NLML %v, %s; on the CPU %v, %s", onGPU.Device, onGPU.NLML, onGPU.Status, onCPU.NLML, onCPU.Status)
	}
	if code, stdout, stderr := g.run(t, nil, "predict", model, "../../examples/co2_new.csv", "--device", "cuda:0"); code != 0 || strings.Count(stdout, "\n") != 25 {
		t.Errorf("predict: exit code %d\n%s", code, stderr)
	}

	// Both devices minimize leave-one-out and cross-validate.
	loo := []string{"nlml", few, "--ard", "--mean", "linear", "--objective", "loo", "--scores", "loo,cv", "--folds", "3"}
	a, _ := g.report(t, nil, append(loo, "--device", "cpu")...)
	b, _ := g.report(t, nil, append(loo, "--device", "cuda:0")...)
	if b.Device != "cuda:0" || math.Abs(a.Objective-b.Objective) > 1e-9*math.Abs(a.Objective) || math.Abs(float64(a.Scores.CrossValidation.NLPD-b.Scores.CrossValidation.NLPD)) > 1e-9 {
		t.Errorf("leave-one-out: %v on the CPU, %v on %s", a.Objective, b.Objective, b.Device)
	}
	for name, v := range a.GradientLog {
		if math.Abs(b.GradientLog[name]-v) > 1e-7*(1+math.Abs(v)) {
			t.Errorf("∂LOO/∂%s: %v on the CPU, %v on the GPU", name, v, b.GradientLog[name])
		}
	}

	// The device has a sticky error at the 12th Cholesky factorisation.
	dies := []emulator.Fault{{Entry: "cusolverDnXpotrf", K: 12, Code: 700}}
	code, _, stderr := g.run(t, dies, "fit", few, "--ard", "--device", "cuda:0", "--out", model)
	if code != exit.Device || !strings.Contains(stderr, "device cuda:0 is lost") {
		t.Errorf("a device that dies: exit code %d\n%s", code, stderr)
	}
	moved, stderr := g.report(t, dies, "fit", few, "--ard", "--device", "cuda:0", "--fallback", "cpu", "--out", model)
	if moved.Device != "cpu" || math.Abs(moved.NLML-onCPU.NLML) > 1e-6*math.Abs(onCPU.NLML) || len(moved.Warnings) != 1 || !strings.Contains(stderr, "gpfit continued on cpu") {
		t.Errorf("a device that dies, with a fallback: %s, NLML %v, %q\n%s", moved.Device, moved.NLML, moved.Warnings, stderr)
	}
	g.testWrong(t, few, data)
	// If the device does not open, auto takes the CPU and says why.
	broken := []emulator.Fault{{Entry: "cublasCreate_v2", K: 1, Code: 1}}
	if r, stderr := g.report(t, broken, "nlml", data); r.Device != "cpu" || !strings.Contains(stderr, "cublas") {
		t.Errorf("a device that does not open: %s\n%s", r.Device, stderr)
	}
}

// testWrong evaluates on a device whose products are wrong above a size that the
// self-test does not reach. A small job must pass. A larger one must end with the
// documented code or continue on the fallback.
func (g *gpu) testWrong(t *testing.T, small, large string) {
	t.Helper()
	wrong := emulator.Config{Spoiled: []emulator.Spoiled{{Entry: "cublasDgemmStridedBatched_64", From: 64, How: emulator.BlockLeftOut}}}
	if code, _, stderr := g.runOn(t, wrong, "nlml", small, "--device", "cuda:0"); code != 0 {
		t.Errorf("a job below the size at which the device is wrong: exit code %d\n%s", code, stderr)
	}
	if code, stdout, stderr := g.runOn(t, wrong, "nlml", large, "--device", "cuda:0"); code != exit.Device || stdout != "" || !strings.Contains(stderr, "cuda:0 computes wrong results") {
		t.Errorf("a wrong gradient: exit code %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := g.runOn(t, wrong, "nlml", large, "--device", "cuda:0", "--fallback", "cpu"); code != 0 || !strings.Contains(stdout, "on cpu") || !strings.Contains(stderr, "gpfit continued on cpu") {
		t.Errorf("a wrong gradient with a fallback: exit code %d\n%s%s", code, stdout, stderr)
	}
}

// testDevices runs "gpfit devices --test" on a device that works, and on one that gpfit
// finds but cannot open.
func (g *gpu) testDevices(t *testing.T) {
	t.Helper()
	test := []string{"devices", "--test", "--n", "150,97"}
	if code, stdout, stderr := g.run(t, nil, test...); code != 0 || strings.Count(stdout, "passes") != 4 || !strings.Contains(stdout, "cuda:0    n = 97 ") {
		t.Errorf("devices --test: exit code %d\n%s\n%s", code, stdout, stderr)
	}
	broken := []emulator.Fault{{Entry: "cublasCreate_v2", K: 1, Code: 1}}
	if code, stdout, _ := g.run(t, broken, test...); code != exit.Device || !strings.Contains(stdout, "cuda:0    found") || !strings.Contains(stdout, "cuda:0  fails: ") {
		t.Errorf("devices --test of one that does not open: exit code %d\n%s", code, stdout)
	}
	code, stdout, _ := g.run(t, broken, append(test, "--json")...)
	var r struct{ Tests []struct{ Failed string } }
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != exit.Device || len(r.Tests) != 3 || !strings.Contains(r.Tests[2].Failed, "cublasCreate") {
		t.Errorf("devices --test --json: exit code %d, error %v\n%s", code, err, stdout)
	}
}

// knowCrossover writes the cache file that a measurement would write.
func (g *gpu) knowCrossover(t *testing.T, n int) {
	t.Helper()
	var r struct {
		Devices []struct{ Name, Detail string }
	}
	_, stdout, _ := g.run(t, nil, "devices", "--json")
	must.Do(t, json.Unmarshal([]byte(stdout), &r))
	detail := map[string]string{}
	for _, d := range r.Devices {
		detail[d.Name] = d.Detail
	}
	text := must.Get(json.Marshal(map[string]int{r.Devices[0].Detail + " | " + detail["cpu"]: n}))(t)
	dir := filepath.Join(g.cache, "gpfit")
	must.Do(t, errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "crossover.json"), text, 0o644)))
}

// TestGPUFolds checks that the objective of cross-validation has the same value and
// gradient on the emulated GPU as on the CPU.
func TestGPUFolds(t *testing.T) {
	g := newGPU(t)
	for _, objective := range []string{"cv", "cv-rmse"} {
		args := []string{"nlml", "../../examples/co2.csv", "--kernel", "rbf(ard)", "--mean", "linear", "--objective", objective, "--folds", "4", "--subsample", "150"}
		got, _ := g.report(t, nil, append(args, "--device", "cuda:0")...)
		want, _ := g.report(t, nil, append(args, "--device", "cpu")...)
		if got.Device != "cuda:0" || !(math.Abs(got.Objective-want.Objective) <= 1e-9*math.Abs(want.Objective)) {
			t.Errorf("%s on %s: %v, on the CPU %v", objective, got.Device, got.Objective, want.Objective)
		}
		for name, v := range want.GradientLog {
			if !(math.Abs(got.GradientLog[name]-v) <= 1e-7*math.Abs(want.Objective)) {
				t.Errorf("%s: derivative by %s is %v, on the CPU %v", objective, name, got.GradientLog[name], v)
			}
		}
	}
}
