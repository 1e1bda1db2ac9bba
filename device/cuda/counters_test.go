package cuda

import (
	"context"
	"math"
	"testing"

	"gpfit/device"
	"gpfit/device/cuda/emulator"
	"gpfit/device/cuda/kernels"
	"gpfit/device/cuda/ptx"
	"gpfit/internal/testcheck"
	"gpfit/kernel/kerneltest"
)

// gradientFlops counts the work of one value and gradient.
func gradientFlops(n int64, s sizes) float64 {
	panel := s.panelWidth(n)
	return choleskyFlops(n, s.factor, s.updateWidth(n)) + upperFlops(n, s.leaf, panel) + panelFlops(n, panel)
}

// mostWork returns the limit of the work, in units of n³. Panels and diagonal blocks
// include zeros or elements beyond the diagonal: n²·width in the inverse, as much in its
// square, and half of n²·update in the factorization.
func mostWork(n, width, update int64) float64 {
	return 1 + (2*float64(width)+0.5*float64(update))/float64(n)
}

// TestWorkOfGradient counts operations and memory of one value with gradient and allows n³
// operations plus the allowance of [mostWork], one n×n buffer and O(n·block) numbers besides.
func TestWorkOfGradient(t *testing.T) {
	const n = 1500
	j := newJob(t, n)
	b := checked(t)
	b.sizes = sizes{fill: 500, factor: 256, symm: 128, leaf: 16, panel: 32, gemm: 1e7}
	before := emulator.Used(0)
	ctx := context.Background()
	ws := j.workspace(t, b)
	alpha, diag, grad := append([]float64(nil), j.y...), make([]float64, n), make([]float64, len(j.theta))
	for _, step := range []func() error{
		func() error { return ws.Fill(ctx, j.prog, j.theta, j.noise) },
		func() error { return ws.Factor(ctx) },
		func() error { return ws.Solve(ctx, alpha, 1) },
		func() error {
			return ws.Contract(ctx, device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: alpha}, j.prog, j.theta, grad, diag)
		},
	} {
		testcheck.Do(t, step())
	}
	work, used := ws.Work(), emulator.Used(0)-before
	if want := gradientFlops(n, b.sizes); math.Abs(work.Flops/want-1) > 1e-12 {
		t.Errorf("%g operations counted, %g by the formula", work.Flops, want)
	}
	if ratio := work.Flops / cube(n); ratio < 1 || ratio > mostWork(n, 32, 32) {
		t.Errorf("%.4f n³ operations", ratio)
	}
	if work.MatrixBytes < 8*n*n || work.MatrixBytes > 8*n*(n+16) {
		t.Errorf("%d bytes of matrix", work.MatrixBytes)
	}
	// The rest includes the scratch space of the contraction, which does not grow with n.
	scratch, partial := kernels.ContractSpace(ws.program.gradient.Kernel, ws.program.work.Blocks)
	if rest := used - work.MatrixBytes - scratch - partial; rest > 8*n*(2*32+20) || used > b.plan(n, 2).DeviceBytes() {
		t.Errorf("%d bytes beside the matrix", rest)
	}
}

// TestWorkOfLargeMatrices checks the same limits at the sizes that matter.
func TestWorkOfLargeMatrices(t *testing.T) {
	b := &Device{gpu: &gpu{name: "cuda:0"}, sizes: defaultSizes}
	for _, n := range []int64{20_000, 32_768, 32_769, 50_000, 70_000, 100_000, 131_072} {
		ratio := gradientFlops(n, defaultSizes) / cube(n)
		matrix := 8 * n * leadingDim(n)
		extra := float64(b.plan(int(n), 8).DeviceBytes()-matrix-reserve) / float64(8*n*n)
		t.Logf("n = %d: %.4f n³ operations, %.4f n² numbers beside the matrix", n, ratio, extra)
		if ratio < 1 || ratio > mostWork(n, panelWidth(n), defaultSizes.updateWidth(n)) || extra > 5000.0/float64(n) {
			t.Errorf("n = %d: %.4f n³ operations, %.4f n² numbers beside the matrix", n, ratio, extra)
		}
	}
}

// TestLargeSizes checks sizes and addresses beyond 32 bits, for 131,072 points.
func TestLargeSizes(t *testing.T) {
	const n, d = 131_072, 8
	b := &Device{gpu: &gpu{name: "cuda:0"}, sizes: defaultSizes, flopRate: func() float64 { return 5e13 }}
	plan := b.Plan(n, d)
	const matrix = int64(8) * n * n // 137 GB
	if plan.DeviceBytes() < matrix || plan.DeviceBytes() > matrix+matrix/50 || plan.HostBytes() <= 0 || plan.FlopsGradient != float64(n)*n*n ||
		plan.GradientTime().Seconds() < 40 || plan.GradientTime().Seconds() > 50 {
		t.Errorf("plan %+v", plan)
	}
	if free := int64(139) << 30; plan.Check(device.Info{Name: "cuda:0", MemoryFree: free}) != nil || plan.Check(device.Info{Name: "cuda:0", MemoryFree: 80 << 30}) == nil {
		t.Errorf("%s planned", device.FormatBytes(plan.DeviceBytes()))
	}
	ld := leadingDim(n)
	if leadingDim(100_001) != 100_016 || ld != n || panelWidth(n) != 512 {
		t.Errorf("leading dimensions %d, %d, panel %d", ld, leadingDim(100_001), panelWidth(n))
	}
	a := kernels.Matrix{A: 1 << 40, LD: ld}
	if end := a.At(n-1, n-1); end.A-a.A != kernels.Ptr(matrix-8) {
		t.Errorf("the last element is %d bytes from the first", end.A-a.A)
	}
	prog := kerneltest.Program(t, "rbf(ard)", d)
	value := testcheck.Get(ptx.New(prog))(t)
	gradient := testcheck.Get(ptx.NewGradient(prog))(t)
	p, g, x := kernels.Function{Kernel: value, Uniforms: 1}, kernels.Function{Kernel: gradient, Uniforms: 2}, kernels.Points{X: 3, N: n}
	v := kernels.Vector{A: 4, N: n}
	panel := kernels.Matrix{A: 5, LD: n}
	width := panelWidth(n)
	launches := []kernels.Launch{
		kernels.Fill(p, x, a, v, 0, defaultSizes.fill), kernels.Fill(p, x, a, v, n-defaultSizes.fill, n), kernels.Fill(p, x, a, v, 0, n),
		kernels.Cross(p, x, kernels.Points{X: 6, N: crossWidth(n)}, 0, crossWidth(n), panel),
		kernels.Invert(a, n, kernels.MaxInvert, panel), kernels.GetDiagonal(a, v, true), kernels.SetDiagonal(a, v, true),
		kernels.Copy(panel, a.At(0, n-width), n-width, width, false), kernels.Copy(panel, a.At(n-width, n-width), width, width, true),
		kernels.CopyEach(a.At(0, width), 2*width*(n+1), panel, 2*width, width, width, n/(2*width), false),
		kernels.SymmetricColumns(a, n, n-width, n, 10, panel), kernels.SymmetricColumns(a, n, 0, width, 10, panel),
		kernels.ColumnSumSquares(panel, n, kernels.Vector{A: 7, N: width}),
		kernels.ReadRows(a, n, n-1000, n, panel), kernels.WriteRows(a, n, 0, 1000, panel),
	}
	for _, pair := range [][]kernels.Launch{
		kernels.LogDet(a, n, 8, 9),
		kernels.Contract(g, x, kernels.Adjoint{Inverse: a.At(0, n-width), Middle: panel}, n-width, n, 11, 12, kernels.ContractWork{Scratch: 13, Partial: 14, Blocks: kernels.ContractBlocks(132)}),
	} {
		launches = append(launches, pair[0], pair[1])
	}
	for _, l := range launches {
		if l.Blocks == 0 || l.Blocks > math.MaxInt32 {
			t.Errorf("%s: %d blocks", l.Kernel, l.Blocks)
		}
	}
	if scratch, partial := kernels.ContractSpace(gradient, kernels.ContractBlocks(132)); scratch+partial > reserve/2 {
		t.Errorf("%d bytes of scratch", scratch+partial)
	}
}

// TestCostOfResidual compares the operations of a residual with the n³ of a value with
// gradient. A residual takes two triangular solves with four columns, which the test
// records, and generates Σ once; the test counts those instructions in the PTX.
func TestCostOfResidual(t *testing.T) {
	b := checked(t)
	const n = 150
	j, ctx := newJob(t, n), context.Background()
	ws := j.workspace(t, b)
	var err error
	testcheck.Do(t, ws.Form(ctx, j.prog, j.theta, j.noise))
	solves := int64(0)
	for _, c := range emulator.Record(t, func() { _, err = ws.Residual(ctx) }) {
		if c.Routine != "trsm" || c.M != n {
			t.Errorf("a residual calls %+v", c)
		}
		solves += c.M * c.M * c.N
	}
	if err != nil || solves != 2*residualColumns*n*n {
		t.Fatalf("%d operations of solves, error %v", solves, err)
	}
	k := testcheck.Get(ptx.For(kerneltest.Program(t, "rbf(ard)", 8), ptx.Multiply))(t)
	perPair := float64(ptx.CountFloat64(k.Text(ptx.Multiply, "sm_80"))) / float64(k.Pairs(ptx.Multiply))
	for n, most := range map[float64]float64{1000: 0.06, 4000: 0.015, 20_000: 0.003, 100_000: 0.0006} {
		share := (2*residualColumns + perPair) * n * n / (n * n * n)
		t.Logf("n = %.0f: %.2f %% of a value with gradient", n, 100*share)
		if share > most {
			t.Errorf("n = %.0f: %.2f %% of a value with gradient", n, 100*share)
		}
	}
}

// TestStepsOfSlowCards checks that no step takes longer than longestStep at the rate of the card,
// unless blocks have their minimum width, and that fast cards and unknown rates change nothing.
func TestStepsOfSlowCards(t *testing.T) {
	for _, n := range []int64{2000, 20000, 60000, 100000} {
		for _, rate := range []float64{3e11, 1e12, 2.5e12, 1e13} {
			d := &Device{sizes: defaultSizes, flopRate: func() float64 { return rate }}
			s := d.sizesFor(int(n))
			width := float64(s.factor)
			for what, operations := range map[string]float64{
				"product": s.gemm, "Cholesky": cube(s.factor) / 3, "solve": max(64*width*width, min(s.gemm, float64(n-s.factor)*width*width)),
				"symmetric product": 2 * float64(s.symm) * float64(s.symm) * float64(s.panelWidth(n)),
				"prediction":        float64(n) * float64(n) * float64(s.crossWidth(n)),
			} {
				narrow := s.factor == 256 || s.symm == 256 || s.crossWidth(n) == 32
				if took := operations / rate; took > longestStep && !narrow {
					t.Errorf("n = %d at %.1e/s: a step of %s takes %.2f s, %+v", n, rate, what, took, s)
				}
			}
			if s.factor < 256 || s.symm < 256 || s.panelWidth(n) != panelWidth(n) {
				t.Errorf("n = %d at %.1e/s: %+v", n, rate, s)
			}
		}
		for _, rate := range []float64{0, 4e13, 6e13} {
			if s := defaultSizes.at(rate, n); s != defaultSizes {
				t.Errorf("n = %d at %.1e/s: %+v", n, rate, s)
			}
		}
	}
	untimed := &Device{sizes: defaultSizes, flopRate: func() float64 { panic("timed") }}
	if s := untimed.sizesFor(1999); s != defaultSizes {
		t.Errorf("a small job: %+v", s)
	}
}

// TestAlignment checks that every matrix passed to the libraries, and each of its
// columns, begins on a memory line, for every n and every division of the work.
func TestAlignment(t *testing.T) {
	b := checked(t)
	slow := sizes{fill: 64, factor: 64, symm: 64, leaf: 16, panel: 64, gemm: 1.5e5, cross: 32}
	for _, steps := range []sizes{defaultSizes, slow} {
		b.sizes = steps
		b.sizes.together = 0
		for _, n := range []int{257, 391} {
			j, routines := newJob(t, n), map[string]int{}
			calls := emulator.Record(t, func() { j.mustRun(t, b, nil) })
			for _, c := range calls {
				routines[c.Routine]++
				for i := range c.LD {
					if c.Offset[i]%128 != 0 || c.LD[i]%lineElements != 0 {
						t.Fatalf("n = %d, %+v: matrix %d of %s is not aligned: %+v", n, steps, i, c.Routine, c)
					}
				}
			}
			for _, name := range []string{"gemm", "gemmbatched", "symm", "trsm", "potrf"} {
				if routines[name] == 0 {
					t.Errorf("n = %d: no call of %s among %v", n, name, routines)
				}
			}
		}
	}
}

// TestPanelWidth checks that panels are the least power of two times the blocks of the
// kernel that covers n, up to 512.
func TestPanelWidth(t *testing.T) {
	for n := int64(1); n <= 131_072; n += 1 + n/7 {
		width := panelWidth(n)
		doublings := 0
		for w := int64(kernels.MaxInvert); w < width; w *= 2 {
			doublings++
		}
		if width != kernels.MaxInvert<<doublings || width > 512 || (width < n && width < 512) || (width > kernels.MaxInvert && width/2 >= n) {
			t.Errorf("n = %d: panels of %d columns", n, width)
		}
	}
}

// TestTypical checks that the plan for a GPU which this machine does not have is the plan of
// a GPU that it has, and that its times equal the committed run's on an H100.
func TestTypical(t *testing.T) {
	for n, seconds := range map[int]float64{5000: 0.00846, 10_000: 0.0329, 20_000: 0.192, 50_000: 2.64, 100_000: 19.8} {
		d, model := Driver{}.Typical()
		p := d.(device.DenseDevice).Plan(n, 8)
		steps := defaultSizes
		steps.spread = roomFor(80 << 30)
		there := (&Device{gpu: &gpu{name: "cuda:0"}, sizes: steps}).plan(n, 8)
		if model != "NVIDIA H100" || p.HostBytes() != there.HostBytes() || p.DeviceBytes() != there.DeviceBytes() || p.FlopsGradient != there.FlopsGradient {
			t.Errorf("n = %d: %+v, on a GPU %+v", n, p, there)
		}
		// The rate is a line and a limit through five measurements: a fifth is as close as
		// that comes.
		if got := p.GradientTime().Seconds(); math.Abs(got/seconds-1) > 0.2 {
			t.Errorf("n = %d: %.3g s, measured %.3g s", n, got, seconds)
		}
	}
	found := device.Find(t.Context(), []device.Driver{Driver{}})
	if b, model := found.Typical("cuda:3", device.Chosen); b == nil || model == "" {
		t.Error("no plan for cuda:3")
	}
	if b, _ := found.Typical("rocm", device.Chosen); b != nil {
		t.Error("a plan for a kind without a driver")
	}
}
