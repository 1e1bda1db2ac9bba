package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/frame"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/compare"
	"gpfit/internal/must"
)

// TestCostOfComparison checks that gpfit says before a comparison of many rows which method
// takes long, unless it is left out.
func TestCostOfComparison(t *testing.T) {
	for _, c := range []struct {
		n       int
		methods []string
		long    bool
	}{{5000, nil, false}, {5001, nil, true}, {5001, []string{"kernel-ridge"}, true}, {5001, []string{"ridge"}, false}} {
		var text strings.Builder
		call := &frame.Command{Msg: messages.New(&text, false)}
		call.Compare.Methods = c.methods
		noteCost(call, c.n)
		if got := strings.Contains(text.String(), "kernel-ridge takes about 30·n³ operations"); got != c.long {
			t.Errorf("%d rows, methods %v: %q", c.n, c.methods, text.String())
		}
	}
}

// TestInterruptedComparison cancels a comparison as Ctrl-C does, during the first fit of the
// Gaussian process. gpfit must print and write what is done, and exit with code 130.
func TestInterruptedComparison(t *testing.T) {
	scores := filepath.Join(t.TempDir(), "scores.csv")
	code, stdout, stderr := interrupt(t, "iteration 0", "compare", "../../examples/co2.csv", "--device", "cpu", "--folds", "3", "--methods", "mean,ridge,gp", "--json", "--out", scores)
	if code != exit.Interrupted {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	var r compare.Result
	must.Do(t, json.Unmarshal([]byte(stdout), &r))
	if r.Stopped != "interrupted after 2 of 9 fits" || len(r.Methods) != 3 || r.Methods[0].Status != compare.Done || r.Methods[2].Method != "gp rbf" || r.Methods[2].Status != compare.Unfinished {
		t.Errorf("%q, methods %+v", r.Stopped, r.Methods)
	}
	text := must.Get(os.ReadFile(scores))(t)
	if lines := strings.Split(strings.TrimSpace(string(text)), "\n"); len(lines) != 3 || !strings.HasPrefix(lines[2], "ridge,done,,1,") {
		t.Errorf("the scores are %q", lines)
	}
	for _, want := range []string{"scores written to " + scores, "gpfit: interrupted after 2 of 9 fits"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("standard error lacks %q:\n%s", want, stderr)
		}
	}
}
