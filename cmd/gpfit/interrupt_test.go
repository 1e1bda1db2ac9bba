package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gpfit/cmd/gpfit/internal/cli"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/compare"
	"gpfit/gp"
	"gpfit/internal/atomicfile"
	"gpfit/internal/testcheck"
)

// TestInterruptedComparison cancels a comparison as Ctrl-C does, during the first fit of the
// Gaussian process. gpfit must print and write what is done, and exit with code 130.
func TestInterruptedComparison(t *testing.T) {
	scores := filepath.Join(t.TempDir(), "scores.csv")
	code, stdout, stderr := interrupt(t, "evaluation", "compare", "../../examples/co2.csv", "--device", "cpu", "--folds", "3", "--methods", "mean,ridge,gp", "--json", "--out", scores)
	if code != exit.Interrupted {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	var r compare.Result
	testcheck.Do(t, json.Unmarshal([]byte(stdout), &r))
	if r.Stopped != "interrupted after 2 of 9 fits" || len(r.Methods) != 3 || r.Methods[0].Status != compare.Done || r.Methods[2].Method != "gp auto" || r.Methods[2].Status != compare.Unfinished {
		t.Errorf("%q, methods %+v", r.Stopped, r.Methods)
	}
	text := testcheck.Get(os.ReadFile(scores))(t)
	if lines := strings.Split(strings.TrimSpace(string(text)), "\n"); len(lines) != 3 || !strings.HasPrefix(lines[2], "ridge,done,,1,") {
		t.Errorf("the scores are %q", lines)
	}
	for _, want := range []string{"scores written to " + scores, "gpfit: interrupted after 2 of 9 fits"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("standard error lacks %q:\n%s", want, stderr)
		}
	}
}

// TestCostOfComparison checks that gpfit says before a comparison of many rows which method
// takes long, unless it is left out.
func TestCostOfComparison(t *testing.T) {
	for _, c := range []struct {
		n       int
		methods []string
		long    bool
	}{{5000, nil, false}, {5001, nil, true}, {5001, []string{"kernel-ridge"}, true}, {5001, []string{"ridge"}, false}} {
		var text strings.Builder
		call := &cli.Command{Msg: messages.New(&text, false)}
		call.Compare.Methods = c.methods
		noteCost(call, c.n)
		if got := strings.Contains(text.String(), "kernel-ridge takes about 30·n³ operations"); got != c.long {
			t.Errorf("%d rows, methods %v: %q", c.n, c.methods, text.String())
		}
	}
}

// TestProfileInterrupt cancels a profile at its points, as Ctrl-C does: no file is left.
func TestProfileInterrupt(t *testing.T) {
	dir := t.TempDir()
	code, stdout, stderr := interrupt(t, "point 1 of", "profile", "../../examples/co2.csv", "--kernel", "rbf", "--device", "cpu", "--out", filepath.Join(dir, "p.csv"), "--plot", filepath.Join(dir, "p.svg"))
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
				text := testcheck.Get(json.Marshal(v))(t)
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

// TestContinueReplaces checks that a fit that continues from its checkpoint replaces the model of
// the interruption without --force, also one whose best descent had converged, but no model of
// another command, and that without the checkpoint the same command does not.
func TestContinueReplaces(t *testing.T) {
	dir := t.TempDir()
	model, past := filepath.Join(dir, "m.gpfit"), time.Now().Add(-time.Hour)
	args := []string{"fit", "../../examples/co2.csv", "--kernel", "rbf(ard)", "--restarts", "20", "--device", "cpu", "--out", model, "--checkpoint", filepath.Join(dir, "ck")}
	if code, _, stderr := interrupt(t, "evaluation", args...); code != exit.Interrupted {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	m := testcheck.Get(gp.Load(model))(t)
	m.Status = "gain-converged"
	testcheck.Do(t, atomicfile.Write(t.Context(), model, m.Write))
	testcheck.Do(t, os.Chtimes(model, past, past))
	ends(t, exit.Usage, "the file exists", append(args, "--standardize", "none")...)
	mustLine(t, args...)
	m, err := gp.Load(model)
	if err != nil || !strings.HasSuffix(m.Status, "-converged") {
		t.Fatalf("status %q, %v", m.Status, err)
	}
	ends(t, exit.Usage, "the file exists", args...)
	whole := filepath.Join(dir, "whole.gpfit")
	testcheck.Do(t, os.Rename(model, whole))
	interrupt(t, "evaluation", args...)
	testcheck.Do(t, os.Rename(whole, model)) // an earlier fit wrote it
	testcheck.Do(t, os.Chtimes(model, past, past))
	ends(t, exit.Usage, "the file exists", args...)
}
