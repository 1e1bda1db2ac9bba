package gpfit_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"gpfit"
	"gpfit/hyperopt"
	"gpfit/internal/testcheck"
)

// memoryRows is the number of rows of TestMemory: one matrix of 72 MB.
const memoryRows = 3000

// TestMemory checks that a fit and later predictions together take one n×n matrix. It
// measures a second process of this test.
func TestMemory(t *testing.T) {
	const variable = "GPFIT_MEASURE_MEMORY"
	if os.Getenv(variable) != "" {
		fitAndPredict(t)
		return
	}
	if testing.Short() {
		t.Skip("factors matrices of 3,000 rows")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestMemory$", "-test.v")
	cmd.Env = append(os.Environ(), variable+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var before, after float64
	_, report, _ := strings.Cut(string(out), "peak in bytes: ")
	if _, err := fmt.Sscanf(report, "%g %g", &before, &after); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	matrix := 8.0 * memoryRows * memoryRows
	t.Logf("peak memory of the process: %.0f MB before, %.0f MB after fit and prediction; one matrix has %.0f MB", before/1e6, after/1e6, matrix/1e6)
	if after-before < matrix || after-before > 1.7*matrix {
		t.Errorf("%.0f MB, want one matrix of %.0f MB and less than two", (after-before)/1e6, matrix/1e6)
	}
}

// fitAndPredict prints the peak memory of this process before and after a fit.
func fitAndPredict(t *testing.T) {
	x, y := waves(memoryRows)
	before := peakMemory(t)
	settings := hyperopt.Settings{MaxEvaluations: 2}
	m := testcheck.Get(gpfit.Devices{Name: "cpu"}.Fit(context.Background(), x, y, gpfit.Options{Kernel: "rbf", Mean: "zero", Settings: settings}))(t)
	defer m.Close()
	if _, err := m.Predict(context.Background(), x[:100]); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("peak in bytes: %g %g\n", before, peakMemory(t))
}

// peakMemory returns the largest resident set of this process so far, in bytes.
func peakMemory(t *testing.T) float64 {
	f := testcheck.Get(os.Open("/proc/self/status"))(t)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kilobytes float64
		if _, err := fmt.Sscanf(lines.Text(), "VmHWM: %g kB", &kilobytes); err == nil {
			return 1024 * kilobytes
		}
	}
	t.Fatal("no VmHWM")
	return 0
}
