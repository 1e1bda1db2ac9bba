package tiles

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"gpfit/device"
	"gpfit/device/devicetest"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// hostOf returns a host with the given threads.
func hostOf(threads int) device.Device {
	return plain{device.Info{Name: "plain", Description: "plain loops", Host: true, Threads: threads}}
}

// cardsOf returns cards with the given bytes of memory each.
func cardsOf(count int, bytes int64) (out []device.Device) {
	for i := range count {
		out = append(out, plain{device.Info{Name: fmt.Sprintf("card:%d", i), Description: "plain loops", MemoryFree: bytes}})
	}
	return out
}

func TestDevices(t *testing.T) {
	for name, devices := range map[string][]device.Device{
		"threads":    {hostOf(3)},
		"small card": cardsOf(1, 200_000),
		"four cards": cardsOf(4, 300_000),
	} {
		t.Run(name, func(t *testing.T) {
			devicetest.Run(t, func(t *testing.T) device.Backend {
				b, err := Method{Order: 48}.Backends(devices)
				if err != nil {
					t.Fatal(err)
				}
				return b[0]
			})
		})
	}
}

// evaluation is a value with gradient of a random problem, and what it took.
type evaluation struct {
	alpha, grad, diag []float64
	logDet            float64
	variances         []float64
	work              device.Work
	copied            copies
	a                 arrangement
}

func evaluate(t *testing.T, devices []device.Device, n, order int) evaluation {
	t.Helper()
	return evaluateBy(t, Method{Order: order}, devices, n)
}

func evaluateBy(t *testing.T, method Method, devices []device.Device, n int) (e evaluation) {
	t.Helper()
	ctx, rng := t.Context(), rand.New(rand.NewPCG(1, 2))
	x := kernel.NewPoints(make([]float64, 2*n), n, 2)
	for i := range x.X {
		x.X[i] = rng.NormFloat64()
	}
	prog, err := kernel.CompileText("rbf(ard) + matern12", 2)
	testcheck.Do(t, err)
	theta := slices.Repeat([]float64{0.7}, prog.NumParams)
	b, err := method.Backends(devices)
	testcheck.Do(t, err)
	ws, err := b[0].NewWorkspace(ctx, x)
	testcheck.Do(t, err)
	defer ws.Close()
	w := ws.(tiled)
	engine := w.FactorExtender.(*workspace)
	e.alpha, e.grad, e.diag, e.variances = slices.Clone(x.X[:n]), make([]float64, prog.NumParams), make([]float64, n), make([]float64, n)
	testcheck.Do(t, w.Form(ctx, prog, theta, []float64{0.1}))
	testcheck.Do(t, w.Solve(ctx, e.alpha, 1))
	testcheck.Do(t, w.Predict(ctx, prog, theta, e.alpha, x, make([]float64, n), e.variances))
	e.logDet, _, err = w.LogDet()
	testcheck.Do(t, err)
	before := w.Work().Flops
	testcheck.Do(t, w.Form(ctx, prog, theta, []float64{0.1}))
	start := engine.copied()
	testcheck.Do(t, w.Contract(ctx, device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: e.alpha}, prog, theta, e.grad, e.diag))
	e.work, e.copied, e.a = w.Work(), engine.copied(), engine.a
	e.work.Flops -= before
	e.copied.Loads -= start.Loads
	e.copied.Peers -= start.Peers
	return e
}

// copied returns what all workers have copied.
func (m *machine) copied() (sum copies) {
	for _, w := range m.workers {
		sum.Loads += w.copies.Loads
		sum.Peers += w.copies.Peers
		sum.Stores += w.copies.Stores
	}
	return sum
}

// TestBits compares the bits of results on different devices, with different memories and threads.
func TestBits(t *testing.T) {
	const n, order = 330, 24
	want := evaluate(t, []device.Device{hostOf(1)}, n, order)
	tile := int64(8 * order * order)
	for name, devices := range map[string][]device.Device{
		"4 threads":          {hostOf(4)},
		"1 card":             cardsOf(1, 1<<30),
		"1 card, 8 tiles":    cardsOf(1, 10*tile),
		"1 card, 30 tiles":   cardsOf(1, 40*tile),
		"2 cards, 20 tiles":  cardsOf(2, 25*tile),
		"4 cards, a sixth":   cardsOf(4, 25*tile),
		"4 cards, much room": cardsOf(4, 1<<30),
		"3 cards, 60 tiles":  cardsOf(3, 70*tile),
	} {
		t.Run(name, func(t *testing.T) {
			got := evaluate(t, devices, n, order)
			if got.logDet != want.logDet || !slices.Equal(got.alpha, want.alpha) || !slices.Equal(got.grad, want.grad) ||
				!slices.Equal(got.diag, want.diag) || !slices.Equal(got.variances, want.variances) {
				t.Errorf("other bits: gradient %v, want %v", got.grad, want.grad)
			}
		})
	}
}

// TestFile computes with tiles in a file, which leaves nothing behind.
func TestFile(t *testing.T) {
	const n, order = 200, 24
	folder := t.TempDir()
	want := evaluate(t, []device.Device{hostOf(1)}, n, order)
	for name, devices := range map[string][]device.Device{"host": {hostOf(2)}, "cards": cardsOf(2, 20*8*order*order)} {
		method := Method{Order: order, room: func() free {
			return free{host: 1000, devices: []int64{20 * 8 * order * order, 20 * 8 * order * order}, folder: folder}
		}}
		got := evaluateBy(t, method, devices, n)
		if got.a.folder != folder || !slices.Equal(got.grad, want.grad) {
			t.Errorf("%s: gradient %v in folder %q, want %v", name, got.grad, got.a.folder, want.grad)
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if _, _, err := allocate(1<<50, folder); err == nil || !strings.Contains(err.Error(), folder) {
		t.Errorf("a file of 8 PiB: %v", err)
	}
}

// TestFolder refuses folders that are none or have too little space before anything is computed.
func TestFolder(t *testing.T) {
	a := arrangement{layout: newLayout(100, 24), tileBytes: 1 << 50, slots: []int{9}, folder: t.TempDir()}
	if err := checkFolder(a, device.Plan{N: 100}); !isA[*device.MemoryError](err) {
		t.Errorf("a file of 9 PiB: %v", err)
	}
	a.folder = "/no/such/folder"
	if err := checkFolder(a, device.Plan{N: 100}); !isA[*device.UnavailableError](err) || !strings.Contains(err.Error(), a.folder) {
		t.Errorf("no folder: %v", err)
	}
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// TestWrittenFactor predicts and solves with a factor that another workspace has computed, and does so on two hosts.
func TestWrittenFactor(t *testing.T) {
	const n = 100
	ctx, x := t.Context(), kernel.NewPoints(make([]float64, n), n, 1)
	for i := range x.X {
		x.X[i] = float64(i)
	}
	prog := testcheck.Get(kernel.CompileText("rbf", 1))(t)
	theta, on := []float64{1, 1}, testcheck.Get(Method{Order: 24}.Backends([]device.Device{hostOf(2), hostOf(1)}))(t)
	if len(on) != 2 {
		t.Fatalf("%d backends for two hosts", len(on))
	}
	from, to := testcheck.Get(on[0].NewWorkspace(ctx, x))(t).(tiled), testcheck.Get(on[1].NewWorkspace(ctx, x))(t).(tiled)
	testcheck.Do(t, from.Form(ctx, prog, theta, []float64{0.1}))
	l, want, got := make([]float64, n*n), make([]float64, n), make([]float64, n)
	testcheck.Do(t, from.ReadFactor(0, n, l))
	testcheck.Do(t, to.WriteFactor(0, n, l))
	for w, out := range map[tiled][]float64{from: want, to: got} {
		testcheck.Do(t, w.Predict(ctx, prog, theta, make([]float64, n), x, make([]float64, n), out))
	}
	if !slices.Equal(got, want) {
		t.Errorf("variances %v, want %v", got[:3], want[:3])
	}
}

// TestOperations checks that tiles take few more operations than n³.
func TestOperations(t *testing.T) {
	const n, order = 320, 16
	e := evaluate(t, []device.Device{hostOf(2)}, n, order)
	if ratio := e.work.Flops / (n * n * n); ratio > 1.03 || ratio < 0.97 {
		t.Errorf("%.3f n³ operations with %d tiles a side", ratio, e.a.side)
	}
}
