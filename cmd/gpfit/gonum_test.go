package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// gonumNames are the names of numbers that differ from run to run.
var gonumNames = regexp.MustCompile(`second|time|rate|bytes|memory|started|date|pid|sha256`)

// TestGonum tests that every number that a command computes on the device gonum is the CPU's
// to nine digits, relative to the largest number beside it.
func TestGonum(t *testing.T) {
	dir := t.TempDir()
	few, model := firstRows(t, 121), filepath.Join(dir, "m.gpfit")
	mustLine(t, "fit", few, "--max-evals", "5", "--save-factor", "--out", model, "--device", "cpu", "--quiet")
	out := " --force --json --out " + filepath.Join(dir, "o.gpfit")
	for _, command := range []string{
		"fit " + few + out,
		"fit " + few + " --mean linear --objective loo --max-evals 5" + out,
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
		sameOnGonum(t, command, on("cpu"), on("gonum"))
	}
	batch := func(device string) string {
		run := filepath.Join(dir, device+".run")
		spec := write(t, dir, "s.yaml", fmt.Sprintf("data:\n  - {name: t, path: %s}\nkernels: [rbf, matern52]\nseeds: [1]\ndefaults: {device: %s}\n", few, device))
		mustLine(t, "batch", spec, "--out", run, "--quiet")
		return mustLine(t, "show", run, "--format", "json")
	}
	sameOnGonum(t, "batch", batch("cpu"), batch("gonum"))
}

// sameOnGonum compares the numbers of a command's lines.
func sameOnGonum(t *testing.T, command, onCPU, onGonum string) {
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
	closeLeaves(t, command, got, want, true, func(at string, _ float64) float64 { return 1e-9 * max(1, largest[filepath.Dir(at)]) })
}

// close1e9 is the relative tolerance for another method's numbers: rounding, and the point
// at which an optimiser ends.
const close1e9 = 1e-9

// otherNames are the names of numbers that differ between methods.
var otherNames = regexp.MustCompile(`seconds|gradient_log|gradient_norm|/evaluations`)

// TestMethod fits, predicts and runs a batch with a method that another build of the program
// has, and compares the numbers with the numbers of the method dense.
func TestMethod(t *testing.T) {
	if os.Getenv("GPFIT_LONG") == "" {
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
	same := func(what string, got, want map[string]any) {
		t.Helper()
		closeLeaves(t, what, got, want, true, func(_ string, v float64) float64 { return close1e9 * max(1, math.Abs(v)) })
	}
	same("report", reports["textbook"], reports["dense"])
	same("predictions", predictions["textbook"], predictions["dense"])
	write(t, dir, "spec.yaml", spec)
	var jobs []map[string]any
	for line := range strings.Lines(output("batch", "spec.yaml", "--out", "run", "--json")) {
		jobs = append(jobs, leaves(t, line, otherNames))
	}
	if len(jobs) < 2 {
		t.Fatalf("results %v", jobs)
	}
	same("batch", jobs[1], jobs[0])
	for want, args := range map[string][]string{
		`must be chosen, dense, experts or textbook (did you mean "textbook"?)`: {"fit", "table.csv", "--method", "textboks"},
		"--method experts: needs local experts":                                 {"fit", "table.csv", "--method", "experts"},
		"--method textbook: computes with one process":                          {"fit", "table.csv", "--method", "textbook", "--experts", "kmeans:2"},
	} {
		if code, _, stderr := try(args...); code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d, want %q in\n%s", args, code, want, stderr)
		}
	}
	if out := output("devices"); !strings.Contains(out, "textbook  exact") || !strings.Contains(out, "experts   approximate") {
		t.Errorf("devices:\n%s", out)
	}
}
