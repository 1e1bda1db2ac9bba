package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gpfit/internal/testcheck"
)

// power cuts the power at each call that changes the disk and after the end, and continues with what survives.
func (r *faultRun) power(t *testing.T) {
	ways := []survival{nothing, names, torn, zeros, some}
	if !testcheck.Long() {
		ways = []survival{nothing, some}
	}
	dir, states := r.place(t, r.initial), t.TempDir()
	d, rng := newDisk(t, dir), rand.New(rand.NewPCG(1, 2))
	var cuts []string // what each state is, beside its folder
	cut := func(what string) {
		for _, how := range ways {
			d.cut(t, filepath.Join(states, fmt.Sprint(len(cuts))), how, rng)
			cuts = append(cuts, fmt.Sprintf("power cut at %s, %s survives", what, how))
		}
	}
	trace := tracer{root: dir, after: d.observe, before: func(c *fileCall) (v verdict) {
		if c.created || calls("write", "writev", "copy", "ftruncate", "fsync", "rename", "mkdir", "unlink")(c) {
			cut(fmt.Sprintf("%s %s", c.name, strings.TrimPrefix(c.path, dir+"/")))
		}
		return v
	}}
	if got := trace.runTraced(t, strings.Fields(r.args)...); got.code != 0 {
		t.Fatalf("exit code %d\n%s", got.code, got.stderr)
	}
	cut("the end")
	stride := 1
	if !testcheck.Long() {
		stride = 1 + len(cuts)/2
	}
	done := 0
	for i := len(cuts) - 1; i >= 0; i -= stride {
		dir := r.place(t, filepath.Join(states, fmt.Sprint(i)))
		r.checkCut(t, cuts[i], dir, i >= len(cuts)-len(ways))
		r.recover(t, cuts[i], dir, true)
		done++
	}
	t.Logf("%-34s %4d states", "power cut", done)
}

// checkCut checks that inputs and earlier outputs are whole, and at the end the results.
func (r *faultRun) checkCut(t *testing.T, what, dir string, ended bool) {
	t.Helper()
	now := map[string]string{}
	for name := range r.before {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil && !strings.HasPrefix(name, "r.run") {
			now[name] = fileState(t, filepath.Join(dir, name))
		}
	}
	for name, text := range r.before {
		if !strings.HasPrefix(name, "r.run") && now[name] != text && !(slices.Contains(r.outputs, name) && r.whole(t, dir, name, now[name])) {
			t.Errorf("%s: %s has changed", what, name)
		}
	}
	if !ended {
		return
	}
	for name, text := range r.want {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err != nil || fileState(t, path) != text {
			t.Errorf("%s: the result %s is not there, %v", what, name, err)
		}
	}
}
