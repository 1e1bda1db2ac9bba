package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/compare/speed"
	"gpfit/device/cuda/emulator"
	"gpfit/device/cuda/kernels"
	"gpfit/device/cuda/ptx"
	"gpfit/internal/testcheck"
)

// memory is slightly more than plans reserve, so that the largest n is small.
const memory = 256<<20 + 16<<20

// TestMain runs the tests on the emulated device. With GPFIT_MEASURE_PROGRAM the
// test binary acts as the program, for the test of run.py.
func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		main()
	}
	os.Exit(emulator.Main(m, emulator.Config{Devices: 2, Memory: memory}))
}

const programVariable = "GPFIT_MEASURE_PROGRAM"

// lines runs a command that must succeed and returns its objects of one type.
func lines(t *testing.T, kind string, args ...string) []map[string]any {
	t.Helper()
	code, out, errs := runLine(t, args...)
	if code != 0 {
		t.Fatalf("%q: exit code %d: %s", args, code, errs)
	}
	return parse(t, kind, out)
}

// runLine runs the program in this process.
func runLine(t *testing.T, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

func parse(t *testing.T, kind, text string) []map[string]any {
	t.Helper()
	var found []map[string]any
	for line := range strings.Lines(text) {
		var r map[string]any
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if r["type"] == kind {
			found = append(found, r)
		}
	}
	return found
}

func number(t *testing.T, r map[string]any, name string) float64 {
	t.Helper()
	v, ok := r[name].(float64)
	if !ok {
		t.Fatalf("%s is %v in %v", name, r[name], r)
	}
	return v
}

func TestDgemm(t *testing.T) {
	emulator.Need(t)
	for i, r := range lines(t, "dgemm", "dgemm", "--n", "64,128", "--repeat", "2") {
		if number(t, r, "n") != float64(64*(i+1)) || !(number(t, r, "gflops") > 0) || r["device"] != "cuda:0" {
			t.Errorf("%v", r)
		}
	}
}

func TestKernels(t *testing.T) {
	emulator.Need(t)
	found := lines(t, "kernels", "kernels")
	if all, ok := found[0]["kernels"].([]any); !ok || len(all) != len(kernels.Table()) || len(found) != 1+len(ptx.Entries())*len(functions) {
		t.Errorf("%v", found)
	}
}

func TestStages(t *testing.T) {
	emulator.Need(t)
	gpu := lines(t, "stages", "stages", "--n", "100,300", "--repeat", "2", "--objective")
	host := lines(t, "stages", "stages", "--n", "100,300", "--repeat", "2", "--device", "cpu")
	if len(gpu) != 2 || len(host) != 2 {
		t.Fatalf("%v, %v", gpu, host)
	}
	for i, r := range gpu {
		for _, name := range []string{"seconds_value", "seconds_value_gradient", "seconds_contract", "seconds_objective", "gflops", "workspace_bytes", "used_bytes"} {
			if !(number(t, r, name) > 0) {
				t.Errorf("%s is %v", name, r[name])
			}
		}
		sum := number(t, r, "seconds_fill") + number(t, r, "seconds_potrf") + number(t, r, "seconds_alpha")
		if value := number(t, r, "seconds_value"); sum < 0.5*value || sum > 2*value {
			t.Errorf("stages of the value take %g s, all of it %g s", sum, value)
		}
		n := number(t, r, "n")
		if flops := number(t, r, "flops") / (n * n * n); flops < 0.9 || flops > 1+1024/n {
			t.Errorf("%.2f n³ operations", flops)
		}
		if a, b := number(t, r, "nlml"), number(t, host[i], "nlml"); math.Abs(a-b) > 1e-10*math.Abs(b) {
			t.Errorf("NLML %v, on the CPU %v", a, b)
		}
		want := host[i]["gradient_log"].(map[string]any)
		got := r["gradient_log"].(map[string]any)
		if len(want) != 3 {
			t.Errorf("gradient %v", want)
		}
		for name := range want {
			if a, b := number(t, got, name), number(t, want, name); math.Abs(a-b) > 1e-8*math.Abs(b) {
				t.Errorf("derivative by %s %v, on the CPU %v", name, a, b)
			}
		}
	}
	device := lines(t, "device", "stages", "--n", "50")
	if len(device) != 1 || number(t, device[0], "memory_total") != memory {
		t.Errorf("device %v", device)
	}
}

func TestResidual(t *testing.T) {
	emulator.Need(t)
	for _, name := range []string{"cuda:0", "cpu"} {
		for _, r := range lines(t, "residual", "residual", "--n", "1,300", "--kernel", "matern32(ard)", "--gradient", "--device", name) {
			if v := number(t, r, "residual"); v > 1e-12 {
				t.Errorf("%s: residual %g", name, v)
			}
			for _, key := range []string{"inverse_diagonal_difference", "middle_diagonal_difference"} {
				if v := number(t, r, key); v > 1e-12 {
					t.Errorf("%s: %s of %g", name, key, v)
				}
			}
		}
	}
}

// TestTiles measures tiles on one and two devices, with all tiles there and with most of them on the host.
func TestTiles(t *testing.T) {
	emulator.Need(t)
	for _, name := range []string{"cuda:0", "cuda:0,cuda:1"} {
		found := lines(t, "tiles", "tiles", "--n", "150", "--order", "16", "--repeat", "1", "--ways", "dense,tiles,host", "--device", name)
		if len(found) != 3 || number(t, found[0], "tiles") != 0 {
			t.Fatalf("%v", found)
		}
		for i, r := range found {
			bytes := number(t, r, "loaded_bytes") + number(t, r, "stored_bytes")
			if r["ok"] != true || !(number(t, r, "seconds_value_gradient") > 0) || (bytes > 0) != (i == 2) {
				t.Errorf("%v", r)
			}
			if i == 0 {
				continue
			}
			if v := number(t, r, "nlml_difference"); r["device"] != name || v > 1e-13 || (number(t, r, "peer_bytes") > 0) != (name != "cuda:0") {
				t.Errorf("%v", r)
			}
		}
		last := found[2]
		// 55 tiles, and 10 for predictions on each device
		if share := number(t, last, "tiles_on_host") / number(t, last, "tiles"); share < 0.5 || share > 0.9 || !(number(t, last, "seconds_copies") > 0) {
			t.Errorf("%v", last)
		}
		if _, ok := last["hidden"].(float64); ok != (name == "cuda:0") {
			t.Errorf("%v", last)
		}
	}
	if found := lines(t, "skipped", "tiles", "--n", "3000", "--ways", "tiles"); len(found) != 1 || !strings.Contains(found[0]["why"].(string), "memory") {
		t.Errorf("%v", found)
	}
	if found := lines(t, "tiles", "tiles", "--n", "150", "--device", "cpu"); len(found) != 2 || found[1]["ok"] != true {
		t.Errorf("%v", found)
	}
}

// TestTilesSees checks that wrong solutions and gradients show.
func TestTilesSees(t *testing.T) {
	j := &job{kernel: "rbf", d: 2, seed: 1}
	p := testcheck.Get(j.problem(100))(t)
	if r := p.rowResidual(make([]float64, 100), []int{3, 17}); r != max(math.Abs(p.y[3]), math.Abs(p.y[17])) {
		t.Errorf("residual of a zero solution %g", r)
	}
	gradient := map[string]float64{"signal_variance": 20, "noise_variance": 10, "lengthscale": 7}
	if off := p.identity(make([]float64, 100), gradient); math.Abs(off-0.2) > 1e-15 { // 50 - 30 of 100
		t.Errorf("identity off by %g", off)
	}
	w := &tiled{tilesResult: tilesResult{NLML: 1 + 1e-9, Gradient: gradient}}
	first := &tiled{tilesResult: tilesResult{NLML: 1, Gradient: gradient}}
	if w.compare([]*tiled{first, w}); w.OK {
		t.Error("another value is the same")
	}
	first.NLML, first.Gradient = w.NLML, map[string]float64{"signal_variance": 20.1, "noise_variance": 10, "lengthscale": 7}
	if w.compare([]*tiled{first, w}); w.OK || math.Abs(w.GradientDifference-0.1/20.1) > 1e-12 {
		t.Errorf("gradients differ by %g", w.GradientDifference)
	}
	if w.compare([]*tiled{w}); !w.OK {
		t.Errorf("%+v", w)
	}
}

// TestResidualSees checks that residual detects an error in the solution.
func TestResidualSees(t *testing.T) {
	j := &job{kernel: "rbf", d: 2, seed: 1}
	p := testcheck.Get(j.problem(300))(t)
	x := make([]float64, 300)
	if r := p.residual(x, []int{17}); r != 1 {
		t.Errorf("residual of a zero solution %g", r)
	}
	x[299] = 1
	if r := p.residual(x, []int{299}); math.Abs(r-(signalVariance+noiseVariance-1)) > 1 || r < 0.6-1e-15 {
		t.Errorf("residual of e %g", r)
	}
	x[5] = math.NaN()
	if r := p.residual(x, []int{17}); r == r {
		t.Errorf("residual of NaN %g", r)
	}
}

func TestAgree(t *testing.T) {
	emulator.Need(t)
	found := lines(t, "agree", "agree", "--n", "40,130", "--d", "3")
	if len(found) != 2*len(agreeKernels()) {
		t.Fatalf("%d results", len(found))
	}
	for _, r := range found {
		if r["ok"] != true {
			t.Errorf("%v", r)
		}
	}
	if code, _, errs := runLine(t, "agree", "--n", "60", "--tolerance", "-1"); code != exitFailed || !strings.Contains(errs, "differ by more") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

func TestLargest(t *testing.T) {
	emulator.Need(t)
	for _, args := range [][]string{{"largest", "--n", "1000"}, {"largest", "--n", "1000", "--gradient"}} {
		found := lines(t, "largest", args...)
		last := found[len(found)-1]
		if n := number(t, last, "n"); last["ok"] != true || n < 250 || n > 512 || !(number(t, last, "used_bytes") > 8*n*n) {
			t.Errorf("%v", last)
		}
	}
}

func TestData(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data")
	lines(t, "data", "data", "--n", "20", "--d", "2", "--seed", "3", "--out", file)
	text, err := os.ReadFile(file)
	if err != nil || len(text) != 8*60 {
		t.Fatalf("%d bytes, error %v", len(text), err)
	}
	got := make([]float64, 60)
	testcheck.Get(binary.Decode(text, binary.LittleEndian, got))(t)
	want := speed.Synthetic(20, 2, 3)
	if got[3] != want.X[3] || got[59] != want.Y[19] {
		t.Error("other data than Synthetic's")
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{nil, exitUsage, "usage"},
		{[]string{"speed"}, exitUsage, "usage"},
		{[]string{"stages", "--n", "x"}, exitUsage, "--n"},
		{[]string{"stages", "--m", "3"}, exitUsage, "not defined"},
		{[]string{"stages", "--device", "cuda:9"}, exitUnavailable, "cuda"},
		{[]string{"kernels", "--device", "cpu"}, exitFailed, "no GPU"},
		{[]string{"stages", "--device", "cpu", "--kernel", "cubic"}, exitFailed, "cubic"},
		{[]string{"data"}, exitFailed, "--out"},
		{[]string{"tiles", "--device", "cpu", "--ways", "tiles,hosts"}, exitFailed, "no way"},
		{[]string{"tiles", "--device", "cpu", "--n", "50", "--ways", "host"}, exitFailed, "cannot be limited"},
	} {
		if code, _, errs := runLine(t, c.args...); code != c.code || !strings.Contains(errs, c.text) {
			t.Errorf("%q: exit code %d, want %d: %s", c.args, code, c.code, errs)
		}
	}
	emulator.Need(t)
	// A size that does not fit is reported, and the next n is measured.
	code, out, errs := runLine(t, "stages", "--n", "900,50", "--repeat", "1")
	if code != exitFailed || len(parse(t, "error", out)) != 1 || len(parse(t, "stages", out)) != 1 {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}
