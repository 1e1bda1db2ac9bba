package main

import (
	"context"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// mostFrames is the most that TestFrames allows.
const mostFrames = 38

// TestFrames bounds the number of functions of ours between the command fit and a
// gradient on the device, in the stacks that another goroutine sees during a fit.
func TestFrames(t *testing.T) {
	var deepest []string
	for range 8 { // one fit may not show the deepest stack, above all on a busy machine
		if f := fitFrames(t); len(f) > len(deepest) {
			deepest = f
		}
	}
	if deepest == nil {
		t.Fatal("no fit shows a stack from runFit to Contract")
	}
	t.Logf("%d frames from runFit to Contract", len(deepest))
	if len(deepest) > mostFrames {
		t.Errorf("%d frames from runFit to Contract, at most %d: remove an indirection:\n%s", len(deepest), mostFrames, strings.Join(deepest, "\n"))
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
