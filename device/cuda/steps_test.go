package cuda

import (
	"errors"
	"slices"
	"testing"

	"gpfit/device"
	"gpfit/device/cuda/emulator"
	"gpfit/internal/testcheck"
)

// eachSteps runs a test with each kind of steps.
func eachSteps(t *testing.T, f func(t *testing.T, s sizes)) {
	for name, s := range map[string]sizes{"large": smallSteps, "spread": spreadSteps, "ahead": aheadSteps, "lockstep": lockstepSizes} {
		t.Run(name, func(t *testing.T) { f(t, s) })
	}
}

// sequence is a workspace whose results are compared with new workspaces.
type sequence struct {
	*job
	t  *testing.T
	b  *Device
	ws device.DenseWorkspace
}

// contract returns the gradient and the diagonal of a likelihood's adjoint.
func (s *sequence) contract(ws device.DenseWorkspace, alpha []float64) []float64 {
	s.t.Helper()
	grad, diag := make([]float64, len(s.theta)), make([]float64, s.x.N)
	adj := device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: alpha}
	testcheck.Do(s.t, ws.Contract(s.t.Context(), adj, s.prog, s.theta, grad, diag))
	return append(grad, diag...)
}

// check contracts with a vector, and compares a new workspace.
func (s *sequence) check(what string, alpha []float64) {
	s.t.Helper()
	fresh := s.workspace(s.t, s.b)
	testcheck.Do(s.t, fresh.Form(s.t.Context(), s.prog, s.theta, s.noise))
	if !slices.Equal(s.contract(s.ws, alpha), s.contract(fresh, alpha)) {
		s.t.Errorf("n = %d, %s: the contraction differs from a new workspace's", s.x.N, what)
	}
}

func (s *sequence) solved(b []float64) []float64 {
	s.t.Helper()
	x := slices.Clone(b)
	testcheck.Do(s.t, s.ws.Solve(s.t.Context(), x, 1))
	return x
}

// TestSequences makes calls in many orders: no result depends on what came before.
func TestSequences(t *testing.T) {
	emulator.Check(t)
	sizesOf := []int{1, 65, 130}
	if testcheck.Long() {
		sizesOf = []int{1, 63, 64, 65, 130}
	}
	eachSteps(t, func(t *testing.T, steps sizes) {
		for _, n := range sizesOf {
			b := openBare(t, 0)
			b.sizes = steps
			s := &sequence{newJob(t, n), t, b, nil}
			ctx := t.Context()
			s.ws = s.workspace(t, b)
			testcheck.Do(t, s.ws.Fill(ctx, s.prog, s.theta, s.noise))
			if _, _, err := s.ws.LogDet(); !errors.Is(err, device.ErrStage) {
				t.Errorf("LogDet after Fill: %v", err)
			}
			testcheck.Do(t, s.ws.Factor(ctx))
			other := s.many[:n]
			alpha := s.solved(s.y)
			s.check("α", alpha)
			s.check("another vector", other)
			s.check("α again", alpha)
			second := s.solved(other)
			s.check("α after another solution", alpha)
			s.check("the other solution", second)
			testcheck.Do(t, s.ws.Predict(ctx, s.prog, s.theta, s.y, s.xs, make([]float64, s.xs.N), nil))
			s.check("a solution after a prediction", second)
			s.solved(s.y)
			testcheck.Do(t, s.ws.Whiten(ctx, slices.Clone(other), 1, false))
			s.check("α after a whitening", alpha)
			written(s, alpha)
		}
	})
}

// written writes the factor of the sequence to a workspace with another one.
func written(s *sequence, alpha []float64) {
	n, ctx, l := s.x.N, s.t.Context(), make([]float64, s.x.N*s.x.N)
	testcheck.Do(s.t, s.ws.ReadFactor(0, n, l))
	want, _, _ := s.ws.LogDet()
	ws := s.workspace(s.t, s.b)
	testcheck.Do(s.t, ws.Form(ctx, s.prog, s.theta, []float64{7}))
	if other, _, err := ws.LogDet(); err != nil || other == want {
		s.t.Errorf("n = %d: log-determinant %v, error %v, with more noise", n, other, err)
	}
	testcheck.Do(s.t, ws.WriteFactor(0, n, l))
	if got, _, err := ws.LogDet(); err != nil || got != want {
		s.t.Errorf("n = %d: log-determinant %v of a written factor, error %v; want %v", n, got, err, want)
	}
	x := slices.Clone(s.y)
	testcheck.Do(s.t, ws.Solve(ctx, x, 1))
	if !slices.Equal(x, alpha) || !slices.Equal(s.contract(ws, alpha), s.contract(s.ws, alpha)) {
		s.t.Errorf("n = %d: other results with a written factor", n)
	}
}

// TestFaultsOfSteps makes calls of lock step and of the streams fail in turn. The job fails, and then the same device
// completes it with the same bits, also in the same workspace.
func TestFaultsOfSteps(t *testing.T) {
	emulator.Check(t)
	n := 65
	if testcheck.Long() {
		n = 90
	}
	for name, s := range map[string]sizes{"spread": spreadSteps, "ahead": aheadSteps, "lockstep": lockstepSizes} {
		for entry, code := range map[string]int{
			"cuMemAlloc_v2": 2, "cuLaunchKernel": 2, "cublasDgemm_v2_64": 3, "cuMemcpyHtoDAsync_v2": 1, "cuMemsetD8Async": 2, "cuStreamWaitEvent": 1,
			"cuEventRecord": 1, "cublasCreate_v2": 3, "cuStreamCreateWithPriority": 2, "cuMemHostAlloc": 2, "cuEventCreate": 2,
		} {
			t.Run(name+" "+entry, func(t *testing.T) {
				j := newJob(t, n)
				b := openBare(t, 0)
				b.sizes = s
				want := j.mustRun(t, b, nil)
				for k := 1; ; k = sparse(k) {
					again := openBare(t, 0)
					again.sizes = s
					emulator.Reset()
					emulator.Inject(t, entry, k, code)
					ws, err := again.NewWorkspace(t.Context(), j.x)
					if err == nil {
						_, err = j.runIn(t.Context(), ws)
					}
					done := emulator.Calls(entry) < k
					emulator.Reset()
					if done != (err == nil) {
						t.Fatalf("call %d: error %v, made %v", k, err, !done)
					}
					if ws != nil {
						j.same(t, testcheck.Get(j.runIn(t.Context(), ws))(t), want)
						testcheck.Do(t, ws.Close())
					}
					if testcheck.Long() || ws == nil {
						j.mustRun(t, again, want)
					}
					mustClose(t, again)
					if done {
						return
					}
				}
			})
		}
	}
}
