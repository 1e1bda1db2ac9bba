package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/internal/testcheck"
	"gpfit/show/plotting"
)

// result is made up: one kernel whose curves cross at n = 450, and one whose curves do not.
const result = `{"type": "machine", "step": "header", "nvidia_smi": "Card, 580.1", "cpu": "Intel(R) Xeon(R)", "cpus": 16}
{"type": "kernels", "step": "header", "n": "none", "kernels": [{"name": "fill"}]}
{"type": "stages", "step": "speed", "device": "cuda:0", "kernel": "rbf", "d": 8, "n": 50000, "seconds_value_gradient": 3}
{"type": "stages", "step": "curve", "device": "cuda:0", "kernel": "rbf", "d": 8, "n": 1000, "seconds_value_gradient": 0.002}
{"type": "stages", "step": "curve", "device": "cuda:0", "kernel": "rbf", "d": 8, "n": 250, "seconds_value_gradient": 0.001}
{"type": "stages", "step": "curve", "device": "cpu", "kernel": "rbf", "d": 8, "n": 250, "seconds_value_gradient": 0.0005}
{"type": "stages", "step": "curve", "device": "cpu", "kernel": "rbf", "d": 8, "n": 1000, "seconds_value_gradient": 0.01}
{"type": "stages", "step": "curve", "device": "cuda:0", "kernel": "rq", "d": 26, "n": 250, "seconds_value_gradient": 0.001}
{"type": "crossover", "step": "curve", "kernel": "rbf", "d": 8, "n": 450}
{"type": "crossover", "step": "curve", "kernel": "rq", "d": 26, "n": null}
`

func TestFigure(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	testcheck.Do(t, os.WriteFile(path, []byte(result), 0o644))
	f := testcheck.Get(figure(testcheck.Get(read(path))(t)))(t)
	if len(f.Charts) != 2 || f.Charts[0].Title != "rbf: GPU from 450 (8)" || f.Charts[1].Title != "rq" || !strings.Contains(f.Title, "Card and 16 threads of Intel Xeon") {
		t.Fatalf("%s: %+v", f.Title, f.Charts)
	}
	var lines, guides int
	for _, l := range f.Charts[0].Layers {
		switch l := l.(type) {
		case *plotting.Guide:
			guides++
			if l.At != 450 || !l.Vertical {
				t.Errorf("guide %+v", l)
			}
		case *plotting.Line:
			lines++
			if len(l.X) != 2 || l.X[0] != 250 || l.X[1] != 1000 || l.Dashed != strings.HasPrefix(l.Name, "CPU") || l.Y[1] != map[bool]float64{true: 0.01, false: 0.002}[l.Dashed] {
				t.Errorf("line %+v", l)
			}
		}
	}
	if lines != 2 || guides != 1 {
		t.Errorf("%d lines, %d guides", lines, guides)
	}
}

func TestDraw(t *testing.T) {
	dir := t.TempDir()
	path, out := filepath.Join(dir, "r.jsonl"), filepath.Join(dir, "out.svg")
	testcheck.Do(t, os.WriteFile(path, []byte(result), 0o644))
	testcheck.Do(t, draw(out, []string{path}))
	if text := string(testcheck.Get(os.ReadFile(out))(t)); !strings.Contains(text, "GPU from 450") || !strings.Contains(text, "</svg>") {
		t.Errorf("%s", text)
	}
	for name, text := range map[string]string{"no results of part curve": strings.SplitAfter(result, "\n")[0], "record 1": "{\"type\": 3}\n", "record 2": "{}\n{"} {
		testcheck.Do(t, os.WriteFile(path, []byte(text), 0o644))
		if err := draw(out, []string{path}); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: error %v", text, err)
		}
	}
}
