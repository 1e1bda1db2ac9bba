package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/must"
)

// TestProfileInterrupt cancels a profile at its points, as Ctrl-C does: no file is left.
func TestProfileInterrupt(t *testing.T) {
	dir := t.TempDir()
	code, stdout, stderr := interrupt(t, "point 1 of", "profile", "../../examples/co2.csv", "--device", "cpu", "--out", filepath.Join(dir, "p.csv"), "--plot", filepath.Join(dir, "p.svg"))
	if code != exit.Interrupted || !strings.Contains(stderr, "interrupted before the profile was complete: nothing was written") || stdout != "" {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%d files are left", len(left))
	}
}

// TestProfileNLML compares the points of a profile with gpfit nlml at their parameters.
func TestProfileNLML(t *testing.T) {
	const data = "../../examples/two_optima.csv"
	type terms struct {
		NLML       float64            `json:"nlml"`
		DataFit    float64            `json:"data_fit"`
		Complexity float64            `json:"complexity"`
		Parameters map[string]float64 `json:"parameters"`
	}
	var profile struct {
		Sections []struct{ Points []terms } `json:"sections"`
	}
	decodeLine(t, &profile, "profile", data, "--kernel", "matern32", "--points", "3", "--json", "--quiet")
	if len(profile.Sections) != 3 {
		t.Fatalf("%d sections", len(profile.Sections))
	}
	for _, s := range profile.Sections {
		for _, p := range s.Points {
			args := []string{"nlml", data, "--kernel", "matern32", "--json", "--quiet"}
			for name, v := range p.Parameters {
				text := must.Get(json.Marshal(v))(t)
				args = append(args, "--set", name+"="+string(text))
			}
			var want terms
			decodeLine(t, &want, args...)
			for _, pair := range [][2]float64{{p.NLML, want.NLML}, {p.DataFit, want.DataFit}, {p.Complexity, want.Complexity}} {
				// The parameters are the same up to the rounding of a logarithm.
				if !(math.Abs(pair[0]-pair[1]) <= 1e-12*(math.Abs(want.NLML)+math.Abs(want.DataFit)+math.Abs(want.Complexity))) {
					t.Errorf("%v: %v, nlml says %v", p.Parameters, pair[0], pair[1])
				}
			}
		}
	}
}
