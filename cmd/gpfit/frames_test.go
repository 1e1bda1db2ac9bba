package main

import (
	"context"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"gpfit/internal/layers"
	"gpfit/internal/must"
)

// TestFrames bounds the number of functions of ours between the command fit and a
// gradient on the device, in the stacks that another goroutine sees during a fit.
func TestFrames(t *testing.T) {
	budgets := must.Get(layers.ReadBudgets("../.."))(t)
	most := must.Get(budgets.Sum(layers.Frames))(t)
	var deepest []string
	for range 20 { // the first fit shows a stack unless the machine is very busy
		if deepest = fitFrames(t); deepest != nil {
			break
		}
	}
	if deepest == nil {
		t.Fatal("no fit shows a stack from runFit to Contract")
	}
	t.Logf("%d %s", len(deepest), layers.Frames)
	if len(deepest) > most {
		t.Errorf("%d %s, the budget is %d: remove an indirection, or raise the budget in %s with the reason:\n%s", len(deepest), layers.Frames, most, layers.BudgetPath, strings.Join(deepest, "\n"))
	}
}

// fitFrames fits on the CPU and returns the functions of the deepest stack seen, from
// Contract up to runFit, or nil.
func fitFrames(t *testing.T) []string {
	done, seen := make(chan struct{}), make(chan []string)
	go func() {
		var deepest []string
		for buf := make([]byte, 1<<20); ; time.Sleep(200 * time.Microsecond) {
			for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
				if f := framesOfGradient(stack); len(f) > len(deepest) {
					deepest = f
				}
			}
			select {
			case <-done:
				seen <- deepest
				return
			default:
			}
		}
	}()
	args := []string{"fit", "../../examples/co2.csv", "--subsample", "120", "--device", "cpu", "--quiet", "--out", filepath.Join(t.TempDir(), "m")}
	code := run(context.Background(), args, strings.NewReader(""), io.Discard, io.Discard)
	close(done)
	if deepest := <-seen; code == 0 {
		return deepest
	}
	t.Fatalf("exit code %d", code)
	return nil
}

// framesOfGradient returns our functions in a goroutine's stack from Contract of a
// workspace up to runFit, or nil if one of them is not there.
func framesOfGradient(stack string) []string {
	var frames []string
	for line := range strings.Lines(stack) {
		if !strings.HasPrefix(line, "gpfit/") || frames == nil && !strings.Contains(line, "orkspace).Contract(") {
			continue
		}
		frames = append(frames, line[:strings.LastIndex(line, "(")])
		if strings.Contains(line, ".runFit(") {
			return frames
		}
	}
	return nil
}
