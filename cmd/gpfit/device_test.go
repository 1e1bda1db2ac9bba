package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/device/cuda/emulator"
	"gpfit/fit/summary"
	"gpfit/internal/testcheck"
)

// gpu runs the program on an emulated GPU.
type gpu struct {
	binary, cache string
}

func newGPU(t *testing.T) *gpu {
	t.Helper()
	emulator.Build(t)
	return &gpu{binary: "gpfit", cache: t.TempDir()}
}

// run returns the exit code and both outputs.
func (g *gpu) run(t *testing.T, machine emulator.Config, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command(g.binary, args...)
	cmd.Env = append(emulator.Env(t, machine), "XDG_CACHE_HOME="+g.cache, "GPFIT_FORCE=true") // the commands write one model after another
	return end(t, cmd)
}

// output returns what a command prints, which must succeed.
func (g *gpu) output(t *testing.T, args ...string) string {
	t.Helper()
	stdout, _ := g.outputs(t, emulator.Config{}, args...)
	return stdout
}

func (g *gpu) outputs(t *testing.T, machine emulator.Config, args ...string) (stdout, stderr string) {
	t.Helper()
	code, stdout, stderr := g.run(t, machine, args...)
	if code != 0 {
		t.Fatalf("gpfit %s: exit code %d\n%s", strings.Join(args, " "), code, stderr)
	}
	return stdout, stderr
}

func (g *gpu) report(t *testing.T, machine emulator.Config, args ...string) (r summary.Report, stderr string) {
	t.Helper()
	stdout, stderr := g.outputs(t, machine, append(args, "--json")...)
	testcheck.Do(t, json.Unmarshal([]byte(stdout), &r))
	return r, stderr
}

// faults is an emulated GPU on which calls fail.
func faults(entry string, k, code int) emulator.Config {
	return emulator.Config{Faults: []emulator.Fault{{Entry: entry, K: k, Code: code}}}
}

// sameReport evaluates on both devices, and compares the values, relative to their size, and the
// gradient, relative to 1 and to the size of each element, but no more than to the value.
func (g *gpu) sameReport(t *testing.T, value, gradient float64, args ...string) (cpu, gpu summary.Report) {
	t.Helper()
	cpu, _ = g.report(t, emulator.Config{}, append(args, "--device", "cpu")...)
	gpu, _ = g.report(t, emulator.Config{}, append(args, "--device", "cuda:0")...)
	for _, pair := range [][2]float64{{gpu.Objective, cpu.Objective}, {gpu.NLML, cpu.NLML}} {
		if !(math.Abs(pair[0]-pair[1]) <= value*math.Abs(pair[1])) || gpu.Device != "cuda:0" {
			t.Errorf("%q: %v on %s, %v on the CPU", args, pair[0], gpu.Device, pair[1])
		}
	}
	for name, want := range cpu.GradientLog {
		if !(math.Abs(gpu.GradientLog[name]-want) <= gradient*min(1+math.Abs(want), math.Abs(cpu.Objective))) {
			t.Errorf("%q: gradient of %s is %v, on the CPU %v", args, name, gpu.GradientLog[name], want)
		}
	}
	return cpu, gpu
}

// sameTable compares the numbers of the tables that a command prints on both devices, relative to
// 1 and to the size of each number, and returns how many there are.
func (g *gpu) sameTable(t *testing.T, tolerance float64, args ...string) int {
	t.Helper()
	onCPU, onGPU := numbersOf(t, g.output(t, append(args, "--device", "cpu")...)), numbersOf(t, g.output(t, append(args, "--device", "cuda:0")...))
	if len(onCPU) != len(onGPU) || len(onCPU) < 3 {
		t.Fatalf("%q: %d numbers on the GPU, %d on the CPU", args, len(onGPU), len(onCPU))
	}
	for i, want := range onCPU {
		if !(math.Abs(onGPU[i]-want) <= tolerance*(1+math.Abs(want))) {
			t.Errorf("%q: number %d is %v, on the CPU %v", args, i, onGPU[i], want)
		}
	}
	return len(onCPU)
}

// numbersOf returns all numbers of a table, row by row.
func numbersOf(t *testing.T, text string) (numbers []float64) {
	t.Helper()
	for _, record := range testcheck.Get(csv.NewReader(strings.NewReader(text)).ReadAll())(t) {
		for _, cell := range record {
			if v, err := strconv.ParseFloat(cell, 64); err == nil {
				numbers = append(numbers, v)
			}
		}
	}
	return numbers
}

// firstRows writes the first lines of a table of the examples.
func firstRows(t *testing.T, lines int) string {
	t.Helper()
	text := testcheck.Get(os.ReadFile("../../examples/co2.csv"))(t)
	return write(t, t.TempDir(), "few.csv", strings.Join(strings.SplitAfter(string(text), "\n")[:lines], ""))
}

// TestGPU runs the command line on an emulated GPU, from the choice of the
// device to a device that dies in the middle of a fit.
func TestGPU(t *testing.T) {
	t.Parallel()
	g, works := newGPU(t), emulator.Config{}
	data, model, few := "../../examples/co2.csv", filepath.Join(t.TempDir(), "m.gpfit"), firstRows(t, 85)
	if stdout := g.output(t, "devices"); !strings.Contains(stdout, "cuda:0    found") || !strings.Contains(stdout, "--device auto tries cuda:0") {
		t.Errorf("devices:\n%s", stdout)
	}
	g.testDevices(t)
	// The crossover is known: measuring it on the emulated device would take minutes.
	g.knowCrossover(t, 100)
	if _, stderr := g.report(t, works, "nlml", few); !strings.Contains(stderr, "device cpu") || !strings.Contains(stderr, "cuda:0 pays off from n = 100 on, but this job has n = 80") {
		t.Errorf("a small job on auto: %s", stderr)
	}
	if r, stderr := g.report(t, works, "nlml", firstRows(t, 106)); r.Device != "cuda:0" {
		t.Errorf("a larger job on auto: device %s\n%s", r.Device, stderr)
	}

	fit := append(strings.Fields("fit --kernel rbf --restarts 0 --coarse off --posterior none --out"), model, few)
	onCPU, _ := g.report(t, works, append(fit, "--device", "cpu")...)
	onGPU, _ := g.report(t, works, append(fit, "--device", "cuda:0")...)
	if onGPU.Device != "cuda:0" || math.Abs(onGPU.NLML-onCPU.NLML) > 1e-6*math.Abs(onCPU.NLML) || onGPU.Status != onCPU.Status {
		t.Errorf("fit on the GPU: %s, NLML %v, %s; on the CPU %v, %s", onGPU.Device, onGPU.NLML, onGPU.Status, onCPU.NLML, onCPU.Status)
	}
	if stdout := g.output(t, "predict", model, "../../examples/co2_new.csv", "--device", "cuda:0"); strings.Count(stdout, "\n") != 25 {
		t.Errorf("predict:\n%s", stdout)
	}

	// The device has a sticky error at the 12th Cholesky factorization, by the steps of large matrices.
	dies := faults("cusolverDnXpotrf", 12, 700)
	dies.Env = []string{"GPFIT_CUDA_STEPS=large"}
	code, _, stderr := g.run(t, dies, append(fit, "--device", "cuda:0")...)
	if code != exit.Device || !strings.Contains(stderr, "device cuda:0 is lost") {
		t.Errorf("a device that dies: exit code %d\n%s", code, stderr)
	}
	moved, stderr := g.report(t, dies, append(fit, "--device", "cuda:0", "--fallback", "cpu")...)
	if moved.Device != "cpu" || math.Abs(moved.NLML-onCPU.NLML) > 1e-6*math.Abs(onCPU.NLML) || len(moved.Warnings) != 1 || !strings.Contains(stderr, "gpfit continued on cpu") {
		t.Errorf("a device that dies, with a fallback: %s, NLML %v, %q\n%s", moved.Device, moved.NLML, moved.Warnings, stderr)
	}
	g.testWrong(t, few, data)
	// If the device does not open, auto takes the CPU and says why.
	if r, stderr := g.report(t, faults("cublasCreate_v2", 1, 1), "nlml", data); r.Device != "cpu" || !strings.Contains(stderr, "cublas") {
		t.Errorf("a device that does not open: %s\n%s", r.Device, stderr)
	}
}

// testWrong evaluates on a device whose products are wrong above a size that the
// self-test does not reach. A small job must pass. A larger one must end with the
// documented code or continue on the fallback.
func (g *gpu) testWrong(t *testing.T, small, large string) {
	t.Helper()
	wrong := emulator.Config{Env: []string{"GPFIT_CUDA_STEPS=large"}, Spoiled: []emulator.Spoiled{{Entry: "cublasDgemmStridedBatched_64", From: 64, How: emulator.BlockLeftOut}}}
	for _, c := range []struct {
		args, stdout, stderr string
		code                 int
	}{
		{small, "on cuda:0", "", 0},
		{large, "^$", "cuda:0 computes wrong results", exit.Device},
		{large + " --fallback cpu", "on cpu", "gpfit continued on cpu", 0},
	} {
		code, stdout, stderr := g.run(t, wrong, strings.Fields("nlml --device cuda:0 "+c.args)...)
		if code != c.code || !regexp.MustCompile(c.stdout).MatchString(stdout) || !strings.Contains(stderr, c.stderr) {
			t.Errorf("%s: exit code %d\n%s%s", c.args, code, stdout, stderr)
		}
	}
}

// testDevices runs "gpfit devices --test" on a device that works, and on one that gpfit
// finds but cannot open.
func (g *gpu) testDevices(t *testing.T) {
	t.Helper()
	test := []string{"devices", "--test", "--n", "150,97"}
	if stdout := g.output(t, test...); strings.Count(stdout, "passes") != 4 || !strings.Contains(stdout, "cuda:0    n = 97 ") {
		t.Errorf("devices --test:\n%s", stdout)
	}
	broken := faults("cublasCreate_v2", 1, 1)
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
	testcheck.Do(t, json.Unmarshal([]byte(g.output(t, "devices", "--json")), &r))
	detail := map[string]string{}
	for _, d := range r.Devices {
		detail[d.Name] = d.Detail
	}
	info, _ := debug.ReadBuildInfo() // of the program that the test runs, too
	text := testcheck.Get(json.Marshal(map[string]int{r.Devices[0].Detail + " | " + detail["cpu"] + " | " + info.Main.Version: n}))(t)
	dir := filepath.Join(g.cache, "gpfit")
	testcheck.Do(t, os.MkdirAll(dir, 0o755))
	write(t, dir, "crossover.json", string(text))
}

// TestGPUObjectives compares the objectives of leave-one-out and of cross-validation,
// and their scores, on the emulated GPU and on the CPU.
func TestGPUObjectives(t *testing.T) {
	t.Parallel()
	g := newGPU(t)
	a, b := g.sameReport(t, 1e-9, 1e-7, "nlml", firstRows(t, 85), "--ard", "--mean", "linear", "--objective", "loo", "--scores", "loo,cv", "--folds", "3")
	if math.Abs(float64(a.Scores.CrossValidation.NLPD-b.Scores.CrossValidation.NLPD)) > 1e-9 {
		t.Errorf("cross-validation: %v on the CPU, %v on the GPU", a.Scores.CrossValidation.NLPD, b.Scores.CrossValidation.NLPD)
	}
	for _, objective := range []string{"cv", "cv-rmse"} {
		g.sameReport(t, 1e-9, 1e-7, "nlml", "../../examples/co2.csv", "--kernel", "rbf(ard)", "--mean", "linear", "--objective", objective, "--folds", "4", "--subsample", "150")
	}
}

// TestGPUMeans compares an emulated GPU with the CPU: means by least squares, noise that
// differs from row to row, no noise, and several targets.
func TestGPUMeans(t *testing.T) {
	t.Parallel()
	g, dir := newGPU(t), t.TempDir()
	rng := rand.New(rand.NewPCG(3, 3))
	text := "x,z,v,lab,a,b\n"
	for i := range 150 {
		x, z := 3*rng.NormFloat64(), rng.NormFloat64()
		text += fmt.Sprintf("%g,%g,%g,lab%d,%g,%g\n", x, z, 0.01*float64(1+i%3), i%2, math.Sin(x)+z+0.3*rng.NormFloat64(), 2*x-math.Cos(z))
	}
	data, model := write(t, dir, "t.csv", text), filepath.Join(dir, "m.gpfit")
	for _, args := range [][]string{
		{"--target", "a", "--mean", "poly(2) + bumps(3, dims=0)", "--noise-column", "v", "--noise-group", "lab"},
		{"--target", "a", "--kernel", "matern12", "--noise", "none", "--mean", "constant"},
		{"--target", "a,b", "--mean", "linear", "--noise-group", "lab"},
	} {
		args = append([]string{data, "--features", "x,z"}, args...)
		// The condition numbers are at most about 1e5.
		cpu, gpu := g.sameReport(t, 1e-10, 1e-8, append([]string{"nlml"}, args...)...)
		for i, c := range cpu.MeanCoefficients {
			if k := gpu.MeanCoefficients[i]; math.Abs(k.Value-c.Value) > 1e-7**c.StandardError || math.Abs(*k.StandardError-*c.StandardError) > 1e-8**c.StandardError {
				t.Errorf("%q: %s = %v ± %v, on the CPU %v ± %v", args, c.Name, k.Value, *k.StandardError, c.Value, *c.StandardError)
			}
		}
		g.output(t, append([]string{"fit", "--device", "cpu", "--max-evals", "5", "--out", model}, args...)...)
		if n := g.sameTable(t, 1e-6, "predict", model, data); n%150 != 0 {
			t.Errorf("%q: %d numbers", args, n)
		}
	}
}

// TestGPUPosterior compares an emulated GPU with the CPU: terms, gradients, joint draws,
// leave-one-out predictions and weights.
func TestGPUPosterior(t *testing.T) {
	t.Parallel()
	g, model := newGPU(t), filepath.Join(t.TempDir(), "m.gpfit")
	g.output(t, "fit", firstRows(t, 105), "--kernel", "rbf(ard) + matern32(dims=0) + linear(dims=0)", "--fix", "noise_variance=0.01", "--max-evals", "10", "--device", "cpu", "--out", model)
	for _, args := range [][]string{
		{"predict", model, "../../examples/co2_new.csv", "--terms", "--gradient", "--draws", "3", "--observed"},
		{"loo", model},
		{"weights", model},
	} {
		g.sameTable(t, 1e-8, args...) // the condition numbers are about 1e5, the values about 300
	}
}

// TestGPUProfile compares profiles on an emulated GPU and on the CPU.
func TestGPUProfile(t *testing.T) {
	t.Parallel()
	g := newGPU(t)
	profile := func(device string) (p summary.Profile) {
		t.Helper()
		testcheck.Do(t, json.Unmarshal([]byte(g.output(t, "profile", "../../examples/two_optima.csv", "--kernel", "rbf", "--set", "lengthscale=0.25", "--fix", "signal_variance=0.6",
			"--along", "noise_variance", "--range", "noise_variance=0.1:1", "--points", "3", "--device", device, "--json")), &p))
		if p.Report.Device != device {
			t.Errorf("the device is %s, not %s", p.Report.Device, device)
		}
		return p
	}
	onCPU, onGPU := profile("cpu"), profile("cuda:0")
	points := onGPU.Sections[0].Points
	if len(points) != 4 {
		t.Fatalf("%d points", len(points))
	}
	for k, want := range onCPU.Sections[0].Points {
		// Two descents end within the square of their gradient's tolerance.
		if got := points[k].Objective; !(math.Abs(float64(got-want.Objective)) < 1e-7) {
			t.Errorf("point %d: %v, on the CPU %v", k, got, want.Objective)
		}
	}
}

// TestReleasedProgramOnGPU fits on the emulated GPU with the program that GPFIT_RELEASED
// names. .ci/release sets it: a release is stripped and built without cgo, and this is how
// we know that it still reaches the driver.
func TestReleasedProgramOnGPU(t *testing.T) {
	released := os.Getenv("GPFIT_RELEASED")
	if released == "" {
		t.Skip("GPFIT_RELEASED names no program; .ci/release sets it")
	}
	g := newGPU(t)
	g.binary = released
	out := filepath.Join(t.TempDir(), "co2.gpfit")
	code, stdout, stderr := g.run(t, emulator.Config{}, "fit", "../../examples/co2.csv", "--subsample", "120", "--device", "cuda", "--out", out)
	if code != 0 || !strings.Contains(stdout, "on cuda:0") || !strings.Contains(stderr, "Emulated GPU") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// gonumNames are the names of numbers that differ from run to run.
var gonumNames = regexp.MustCompile(`second|time|rate|bytes|memory|started|date|pid|sha256`)

// TestGonum tests that every number that a command computes on the device gonum is the CPU's
// to nine digits, relative to the largest number beside it. The end of a fit has eight: its Hessian
// holds differences, so rounding moves the last step.
func TestGonum(t *testing.T) {
	dir := t.TempDir()
	few, model := firstRows(t, 121), filepath.Join(dir, "m.gpfit")
	mustLine(t, "fit", few, "--kernel", "rbf", "--mean", "zero", "--max-evals", "5", "--save-factor", "--out", model, "--device", "cpu", "--quiet")
	out := " --force --json --out " + filepath.Join(dir, "o.gpfit")
	for _, command := range []string{
		"fit " + few + " --kernel rbf --coarse off" + out,
		"fit " + few + " --kernel rbf --mean linear --objective loo --max-evals 5" + out,
		"nlml " + few + " --objective cv --folds 4 --json",
		"nlml " + few + " --kernel linear+rbf --scores loo,cv --folds 3 --json",
		"nlml " + few + " --experts kmeans:3 --json",
		"predict " + model + " " + few + " --format jsonl",
		"sample " + model + " " + few + " --draws 2 --seed 3 --format jsonl",
		"loo " + model + " --format jsonl",
		"update " + model + " " + few + out,
	} {
		on := func(device string) string {
			return mustLine(t, append(strings.Fields(command), "--quiet", "--device", device)...)
		}
		digits := 1e-9
		if strings.HasSuffix(command, "--coarse off"+out) {
			digits = 1e-8
		}
		sameOnGonum(t, command, on("cpu"), on("gonum"), digits)
	}
	batch := func(device string) string {
		run := filepath.Join(dir, device+".run")
		spec := write(t, dir, "s.yaml", fmt.Sprintf("data:\n  - {name: t, path: %s}\nkernels: [rbf, matern52]\nseeds: [1]\ndefaults: {device: %s}\n", few, device))
		mustLine(t, "batch", spec, "--out", run, "--quiet")
		return mustLine(t, "show", run, "--format", "json")
	}
	sameOnGonum(t, "batch", batch("cpu"), batch("gonum"), 1e-8)
}

// sameOnGonum compares the numbers of a command's lines.
func sameOnGonum(t *testing.T, command, onCPU, onGonum string, tolerance float64) {
	t.Helper()
	want, got := leaves(t, onCPU, gonumNames), leaves(t, onGonum, gonumNames)
	if len(want) != len(got) || !strings.Contains(onGonum, "gonum") && strings.Contains(onCPU, `"cpu"`) {
		t.Fatalf("%s: %d values on the CPU, %d on gonum\n%s", command, len(want), len(got), onGonum)
	}
	largest := map[string]float64{}
	for at, v := range want {
		number, _ := v.(float64)
		largest[filepath.Dir(at)] = max(largest[filepath.Dir(at)], math.Abs(number))
	}
	closeLeaves(t, command, got, want, true, func(at string, _ float64) float64 { return tolerance * max(1, largest[filepath.Dir(at)]) })
}

// close1e9 is the relative tolerance for another method's numbers: rounding, and the point
// at which an optimizer ends.
const close1e9 = 1e-9

// closeEnds is the relative tolerance for the ends of two descents, and what follows from them: a
// descent ends when its model promises less than 0.01 nats, after steps that rounding decides.
const closeEnds = 1e-4

// otherNames are the names of numbers that differ between methods.
var otherNames = regexp.MustCompile(`seconds|_bytes|gradient_log|gradient_norm|evaluations|iterations|/path/`)

// TestMethod fits, predicts and runs a batch with a method that another build of the program
// has, and compares the numbers with the numbers of the method dense.
func TestMethod(t *testing.T) {
	if !testcheck.Long() {
		t.Skip("SKIPPED: it builds the program with the tag textbook; GPFIT_LONG=1 runs it")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "gpfit-textbook")
	if out, err := exec.Command("go", "build", "-tags", "textbook", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	try := func(args ...string) (int, string, string) {
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		return end(t, cmd)
	}
	output := func(args ...string) string {
		t.Helper()
		code, stdout, stderr := try(append(args, "--quiet")...)
		if code != 0 {
			t.Fatalf("%v: exit code %d\n%s", args, code, stderr)
		}
		return stdout
	}
	rows := "a,b,y\n"
	for i := range 60 {
		a, b := math.Sin(3*float64(i)), math.Cos(5*float64(i*i))
		rows += fmt.Sprintf("%.3f,%.3f,%.4f\n", a, b, math.Sin(3*a)+math.Cos(2*b)+0.1*math.Cos(11*float64(i)))
	}
	write(t, dir, "table.csv", rows)
	reports, predictions := map[string]map[string]any{}, map[string]map[string]any{}
	spec := "data: [table.csv]\ndefaults: {threads: 1, scores: [loo]}\nkernels:\n"
	for _, method := range []string{"dense", "textbook"} {
		model := method + ".gpfit"
		text := output("fit", "table.csv", "--kernel", "rbf(ard)", "--mean", "linear", "--scores", "loo", "--method", method, "--threads", "1", "--out", model, "--json")
		reports[method] = leaves(t, text, otherNames)
		predictions[method] = leaves(t, output("predict", model, "table.csv", "--method", method, "--json"), otherNames)
		if got := strings.Contains(text, `"method":"textbook"`); got != (method == "textbook") {
			t.Errorf("the report of %s names its method: %v", method, got)
		}
		spec += fmt.Sprintf("  - {name: %s, kernel: rbf(ard), mean: linear, method: %s}\n", method, method)
	}
	same := func(what string, got, want map[string]any, tolerance float64) {
		t.Helper()
		closeLeaves(t, what, got, want, true, func(_ string, v float64) float64 { return tolerance * max(1, math.Abs(v)) })
	}
	same("report", reports["textbook"], reports["dense"], closeEnds)
	same("predictions", predictions["textbook"], predictions["dense"], closeEnds)
	alike := leaves(t, output("predict", "dense.gpfit", "table.csv", "--method", "textbook", "--json"), otherNames)
	same("predictions of one model", alike, predictions["dense"], close1e9)
	write(t, dir, "spec.yaml", spec)
	var jobs []map[string]any
	for line := range strings.Lines(output("batch", "spec.yaml", "--out", "run", "--json")) {
		jobs = append(jobs, leaves(t, line, otherNames))
	}
	if len(jobs) < 2 {
		t.Fatalf("results %v", jobs)
	}
	same("batch", jobs[1], jobs[0], closeEnds)
	for want, args := range map[string][]string{
		`must be chosen, dense, merged, markov, grid, finite, tiles, mpi, experts or textbook (did you mean "textbook"?)`: {"fit", "table.csv", "--method", "textboks"},
		"--method experts: computes with local experts":                                                                   {"fit", "table.csv", "--method", "experts"},
		"--method textbook: computes with one process":                                                                    {"fit", "table.csv", "--method", "textbook", "--experts", "kmeans:2"},
	} {
		if code, _, stderr := try(args...); code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d, want %q in\n%s", args, code, want, stderr)
		}
	}
	if _, out, _ := try("devices"); !strings.Contains(out, "textbook  exact") || !strings.Contains(out, "experts   approximate") {
		t.Errorf("devices:\n%s", out)
	}
}
