package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// trial is what a program did on this machine.
type trial struct {
	target
	// version is what the program prints. It is "" if this machine cannot run it, for the
	// reason in skipped.
	version, skipped string
	// means are its predictions.
	means []float64
}

func (r *trial) text() string {
	if r.skipped != "" {
		return "complete; SKIPPED running it: " + r.skipped
	}
	return fmt.Sprintf("complete; fits and predicts; %s", r.version)
}

// arm64Libraries is the folder of Debian's package libc6-arm64-cross.
const arm64Libraries = "/usr/aarch64-linux-gnu"

// runner returns the command that runs a program of the target here, or the reason why
// none does.
func runner(t target) (command []string, reason string) {
	switch {
	case t.os == runtime.GOOS && t.arch == runtime.GOARCH:
		return nil, ""
	case t.os != "linux" || runtime.GOOS != "linux" || t.arch != "arm64":
		return nil, fmt.Sprintf("a program for %s/%s does not run on %s/%s", t.os, t.arch, runtime.GOOS, runtime.GOARCH)
	}
	for _, name := range []string{"qemu-aarch64-static", "qemu-aarch64"} {
		if path, err := exec.LookPath(name); err == nil {
			command = []string{path}
		}
	}
	if command == nil {
		return nil, "no qemu-aarch64 here (Debian's package qemu-user-static)"
	}
	if t.static {
		return command, ""
	}
	if _, err := os.Stat(arm64Libraries); err != nil {
		return nil, "no C library for arm64 here (Debian's package libc6-arm64-cross)"
	}
	return append(command, "-L", arm64Libraries), ""
}

// tryProgram prints the program's version, fits a model to rows of an example and predicts
// with it.
func tryProgram(ctx context.Context, p *pack) (trial, error) {
	result := trial{target: p.target}
	command, reason := runner(p.target)
	if reason != "" {
		result.skipped = reason
		return result, nil
	}
	work, err := os.MkdirTemp("", "gpfit-try-")
	if err != nil {
		return result, err
	}
	defer os.RemoveAll(work)
	program, model := filepath.Join(work, p.target.program()), filepath.Join(work, "co2.gpfit")
	if err := os.WriteFile(program, p.program, 0o755); err != nil {
		return result, err
	}
	command = append(command, program)
	gpfit := func(args ...string) (string, error) {
		return output(ctx, ".", command[0], append(command[1:], args...)...)
	}
	if result.version, err = gpfit("--version"); err != nil {
		return result, err
	}
	if want := "gpfit " + p.version + " ("; !strings.HasPrefix(result.version, want) {
		return result, fmt.Errorf("the program prints %q, not %q", result.version, want)
	}
	if _, err := gpfit("fit", "examples/co2.csv", "--kernel", "rbf", "--subsample", "80", "--device", "cpu", "--quiet", "--out", model); err != nil {
		return result, err
	}
	text, err := gpfit("predict", model, "examples/co2_new.csv", "--device", "cpu", "--quiet")
	if err != nil {
		return result, err
	}
	result.means, err = firstColumn(text)
	return result, err
}

// The months of examples/co2_new.csv have between leastCO2 and mostCO2 ppm.
const leastCO2, mostCO2 = 350, 430

// firstColumn returns the first column of predictions, which must be concentrations.
func firstColumn(text string) ([]float64, error) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	var means []float64
	for _, row := range rows[min(1, len(rows)):] {
		mean, err := strconv.ParseFloat(row[0], 64)
		if err != nil || !(mean > leastCO2 && mean < mostCO2) {
			return nil, fmt.Errorf("the prediction %q is not from %d to %d ppm", row[0], leastCO2, mostCO2)
		}
		means = append(means, mean)
	}
	if len(means) < 2 {
		return nil, fmt.Errorf("%d predictions", len(means))
	}
	return means, nil
}

// sameMeans is the largest relative difference between the predictions of two processors.
// Tuning ends where the gradient is small, which leaves about six digits of a parameter.
const sameMeans = 1e-5

// compareTrials checks that all programs predict the same. At least one must have run.
func compareTrials(results []trial) error {
	var first *trial
	for i := range results {
		r := &results[i]
		if r.means == nil {
			continue
		}
		if first == nil {
			first = r
		}
		for j, mean := range r.means {
			if len(r.means) != len(first.means) || math.Abs(mean/first.means[j]-1) > sameMeans {
				return fmt.Errorf("%s predicts %v, %s predicts %v", r.name(), r.means, first.name(), first.means)
			}
		}
	}
	if first == nil {
		return fmt.Errorf("this machine could run none of the programs")
	}
	return nil
}
