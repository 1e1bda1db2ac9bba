package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/compare/speed"
	"gpfit/internal/testcheck"
)

// benchTable writes a table of n rows and 3 columns.
func benchTable(t *testing.T, n int) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 0))
	var b strings.Builder
	for range n {
		x0, x1, x2 := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
		fmt.Fprintf(&b, "%v,%v,%v,%v\n", x0, x1, x2, math.Sin(x0)+x1*x2+0.1*rng.NormFloat64())
	}
	return write(t, t.TempDir(), "data.csv", b.String())
}

func TestBenchJSON(t *testing.T) {
	path := benchTable(t, 70)
	plot := filepath.Join(t.TempDir(), "speed.svg")
	model := []string{"--kernel", "matern52(ard)", "--set", "lengthscale=1.5", "--set", "noise_variance=0.05", "--device", "cpu", "--json"}
	args := append([]string{"bench", "--data", path, "--n", "40,70", "--repeat", "2", "--threads", "2", "--plot", plot}, model...)
	lines := strings.Split(strings.TrimSpace(mustLine(t, args...)), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines, expected the machine and two results:\n%q", len(lines), lines)
	}
	var machine speed.Machine
	if err := json.Unmarshal([]byte(lines[0]), &machine); err != nil || machine.Type != "machine" || machine.CPU == "" || machine.Date == "" || machine.Data != path {
		t.Errorf("machine line %s, error %v", lines[0], err)
	}
	for i, n := range []int{40, 70} {
		var r map[string]any
		testcheck.Do(t, json.Unmarshal([]byte(lines[i+1]), &r))
		for name, want := range map[string]any{"type": "bench", "schema_version": 1.0, "device": "cpu", "n": float64(n), "d": 3.0, "kernel": "matern52(ard)", "threads": 2.0} {
			if r[name] != want {
				t.Errorf("n = %d: %s is %v, expected %v", n, name, r[name], want)
			}
		}
		for _, name := range []string{"seconds_value", "seconds_value_gradient", "gflops", "dgemm_gflops", "fraction_of_dgemm", "predict_rows_per_second"} {
			if v, ok := r[name].(float64); !ok || !(v > 0) {
				t.Errorf("n = %d: %s is %v", n, name, r[name])
			}
		}
		if _, ok := r["peak_bytes"].(float64); !ok {
			t.Errorf("n = %d: peak_bytes is %v", n, r["peak_bytes"])
		}
	}
	// The NLML equals the result of `gpfit nlml` at the same parameters, to the last bit.
	var want struct {
		NLML     float64            `json:"nlml"`
		Gradient map[string]float64 `json:"gradient_log"`
	}
	var got speed.Result
	decodeLine(t, &want, append([]string{"nlml", path, "--mean", "zero", "--threads", "2"}, model...)...)
	testcheck.Do(t, json.Unmarshal([]byte(lines[2]), &got))
	if got.NLML != want.NLML || len(want.Gradient) != 5 || !maps.Equal(got.GradientLog, want.Gradient) {
		t.Errorf("NLML %v with the gradient %v, `gpfit nlml` gives %v with %v", got.NLML, got.GradientLog, want.NLML, want.Gradient)
	}
	if text, err := os.ReadFile(plot); err != nil || !bytes.Contains(text, []byte("<svg")) {
		t.Errorf("plot of %d bytes, error %v", len(text), err)
	}
}

func TestBenchTable(t *testing.T) {
	plot := filepath.Join(t.TempDir(), "speed.png")
	code, stdout, stderr := runLine(t, "bench", "--n", "30", "--d", "2", "--repeat", "1", "--plot", plot, "--quiet", "--device", "cpu")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, want := range []string{"machine", "synthetic, d = 2, seed 1", "of dgemm", "\ncpu           30    2 "} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	if data, err := os.ReadFile(plot); err != nil || !bytes.HasPrefix(data, []byte("\x89PNG")) {
		t.Errorf("plot of %d bytes, error %v", len(data), err)
	}
}

func TestBenchInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	if code := run(ctx, []string{"bench", "--n", "30"}, strings.NewReader(""), &out, &errs); code != exit.Interrupted {
		t.Errorf("exit code %d: %s", code, &errs)
	}
}
