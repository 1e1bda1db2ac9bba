package gp

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/kernel/kerneltest"
)

// jointTolerance is relative to the prior variance, because covariances are
// differences from it; Σ has a condition number near 1e4.
const jointTolerance = 1e-10

func condition(t testing.TB, m *Model) *Posterior {
	t.Helper()
	p := testcheck.Get(m.Condition(t.Context(), backend))(t)
	t.Cleanup(func() { p.Close() })
	return p
}

// used returns the columns that newModel's models use of a row.
func used(rows []float64, i int) []float64 { return []float64{rows[3*i], rows[3*i+2]} }

func TestJoint(t *testing.T) {
	const n, points = 60, 17
	m := newModel(t, n)
	rows := newRows(points)
	p, ref := condition(t, m), newReference(t, m)
	marginal := predict(t, m, rows)
	for _, observed := range []bool{false, true} {
		joint := testcheck.Get(p.Joint(t.Context(), rows, points, JointOptions{Observed: observed}))(t)
		prior := testcheck.Get(Prior(t.Context(), m, rows, points, JointOptions{Observed: observed}))(t)
		for i := range points {
			a := used(rows, i)
			std := marginal.StdLatent[i]
			if observed {
				std = marginal.Std[i]
			}
			scale := ref.k(a, a)
			if math.Abs(joint.Mean[i]-marginal.Mean[i]) > 1e-12*math.Abs(marginal.Mean[i]) || math.Abs(joint.Cov[i*points+i]-std*std) > jointTolerance*scale {
				t.Errorf("row %d: %v, variance %v; want %v, %v", i, joint.Mean[i], joint.Cov[i*points+i], marginal.Mean[i], std*std)
			}
			if math.Abs(prior.Mean[i]-ref.mean(a)) > 1e-13*math.Abs(ref.mean(a)) {
				t.Errorf("row %d: prior mean %v, want %v", i, prior.Mean[i], ref.mean(a))
			}
			for j := range points {
				b := used(rows, j)
				want, wantPrior := ref.posteriorCov(a, b), ref.k(a, b)
				if i == j && observed {
					want, wantPrior = want+ref.noise, wantPrior+ref.noise
				}
				if got := joint.Cov[i*points+j]; math.Abs(got-want) > jointTolerance*scale || got != joint.Cov[j*points+i] {
					t.Errorf("covariance of rows %d, %d: %v, want %v", i, j, got, want)
				}
				if got := prior.Cov[i*points+j]; math.Abs(got-wantPrior) > 1e-13*scale {
					t.Errorf("prior covariance of rows %d, %d: %v, want %v", i, j, got, wantPrior)
				}
			}
		}
	}
}

// TestJointTooLarge checks that a covariance too large for the memory is rejected first.
func TestJointTooLarge(t *testing.T) {
	err := checkSize("the covariance of 100000 rows", 1e10, 1<<30)
	var tooLarge *SizeError
	if !errors.As(err, &tooLarge) || tooLarge.Need != 8e10 {
		t.Fatalf("error %v, want a SizeError of 8e10 bytes", err)
	}
	testcheck.Do(t, checkSize("the covariance", 1e6, 1<<30), checkSize("the covariance", 0x1p60, 0)) // 0: unknown
}

// TestDraws compares the moments of draws with the moments of their distribution. With 40,000
// draws, sample moments are within five standard errors.
func TestDraws(t *testing.T) {
	const points, count = 6, 40000
	m := newModel(t, 30)
	joint := testcheck.Get(condition(t, m).Joint(t.Context(), newRows(points), points, JointOptions{}))(t)
	mean, cov := joint.Mean, slices.Clone(joint.Cov)
	s := testcheck.Get(joint.Sampler())(t)
	if s.Rank != points || s.Dropped != 0 {
		t.Errorf("rank %d, dropped %v for a regular covariance", s.Rank, s.Dropped)
	}
	draws := mustDraw(t, s, count, 5)
	if !slices.Equal(draws, mustDraw(t, s, count, 5)) || !slices.Equal(draws[:7*points], mustDraw(t, s, 7, 5)) || slices.Equal(draws[:points], mustDraw(t, s, 1, 6)) {
		t.Error("draws are not a function of the seed")
	}
	for i := range points {
		sum := 0.0
		for d := range count {
			sum += draws[d*points+i] - mean[i]
		}
		if limit := 5 * math.Sqrt(cov[i*points+i]/count); math.Abs(sum/count) > limit {
			t.Errorf("row %d: draws are off by %v on average, limit %v", i, sum/count, limit)
		}
		for j := range points {
			sum := 0.0
			for d := range count {
				sum += (draws[d*points+i] - mean[i]) * (draws[d*points+j] - mean[j])
			}
			// The variance of a product of normals is c_ii c_jj + c_ij².
			c := cov[i*points+j]
			if limit := 5 * math.Sqrt((cov[i*points+i]*cov[j*points+j]+c*c)/count); math.Abs(sum/count-c) > limit {
				t.Errorf("covariance of rows %d, %d: %v in draws, want %v ± %v", i, j, sum/count, c, limit)
			}
		}
	}
}

// TestSemidefinite draws from singular covariances: of repeated rows, and of
// rows so close that most variances are only rounding errors.
func TestSemidefinite(t *testing.T) {
	prog := kerneltest.Program(t, "rbf", 1)
	x := testcheck.Slice(220, func(i int) float64 { return float64(i%200) / 100 })
	m := len(x)
	joint := testcheck.Get(covariance{prog, []float64{1, 4}}.prior(t.Context(), kernel.NewPoints(x, m, 1), nil))(t)
	cov := slices.Clone(joint.Cov)
	s := testcheck.Get(joint.Sampler())(t)
	if s.Rank > 30 || s.Rank < 8 || !(s.Dropped > 0) || s.Dropped > 4*1e-12 {
		t.Errorf("rank %d, dropped %v", s.Rank, s.Dropped)
	}
	for i, p := range s.perm {
		for j, q := range s.perm {
			sum := floats.Dot(s.factor[i*m:i*m+s.Rank], s.factor[j*m:j*m+s.Rank])
			if math.Abs(sum-cov[p*m+q]) > 4*1e-12 {
				t.Fatalf("LLᵀ of rows %d, %d is %v, want %v", p, q, sum, cov[p*m+q])
			}
		}
	}
	draw := mustDraw(t, s, 1, 1)
	for i := range 20 {
		// Deviations are roots of variances of rounding size.
		if math.Abs(draw[i]-draw[200+i]) > 1e-5 {
			t.Errorf("the same point drew %v and %v", draw[i], draw[200+i])
		}
	}

	bad := &Joint{Mean: make([]float64, 2), Cov: []float64{1, 2, 2, 1}, scale: 1, order: 2}
	if _, err := bad.Sampler(); !errors.Is(err, ErrNotSemidefinite) || !strings.Contains(err.Error(), "a variance of -3 where the prior has up to 1;") {
		t.Errorf("error %v, want a variance of −3", err)
	}
	bad = &Joint{Mean: make([]float64, 1), Cov: []float64{math.NaN()}, scale: 1, order: 1}
	if _, err := bad.Sampler(); err == nil {
		t.Error("NaN accepted")
	}
}

func mustDraw(t testing.TB, s *Sampler, count int, seed uint64) []float64 {
	t.Helper()
	return testcheck.Get(s.Draw(count, seed))(t)
}

// TestPriorPieces checks rows longer than the pieces of their evaluation against
// the formula, and that a cancelled context ends the work.
func TestPriorPieces(t *testing.T) {
	const m = 2*rowPiece + 7
	prog := kerneltest.Program(t, "rbf", 1)
	x := testcheck.Slice(m, func(i int) float64 { return float64(i*i%977) / 100 })
	points := kernel.NewPoints(x, m, 1)
	joint := testcheck.Get(covariance{prog, []float64{1.5, 4}}.prior(t.Context(), points, nil))(t)
	if joint.scale != 4 {
		t.Errorf("largest variance %v, want 4", joint.scale)
	}
	for i := range m {
		for j := range m {
			d := (x[i] - x[j]) / 1.5
			if want := 4 * math.Exp(-d*d/2); math.Abs(joint.Cov[i*m+j]-want) > 1e-14*4 || joint.Cov[i*m+j] != joint.Cov[j*m+i] {
				t.Fatalf("covariance of points %d, %d is %v, want %v", i, j, joint.Cov[i*m+j], want)
			}
		}
	}
}

// TestProcess checks that parameters have the values in the expression, or 1,
// unless they are set, and that observations include noise.
func TestProcess(t *testing.T) {
	expr := testcheck.Get(kernel.Parse("rbf(ard, lengthscale=[2, 3]) + matern12"))(t)
	const n, d = 4, 2
	rows := []float64{0, 0, 1, 0.5, -1, 2, 0.3, 0.3}
	p := testcheck.Get(NewProcess(expr, d))(t)
	joint := func(observed bool) []float64 {
		t.Helper()
		j := testcheck.Get(p.Joint(t.Context(), rows, n, observed))(t)
		if slices.ContainsFunc(j.Mean, func(v float64) bool { return v != 0 }) {
			t.Errorf("mean %v", j.Mean)
		}
		return j.Cov
	}
	prog := testcheck.Get(kernel.Compile(expr, kernel.Columns(d)))(t)
	want := func(values map[string]float64) []float64 {
		t.Helper()
		theta := slices.Repeat([]float64{1}, prog.NumParams)
		for i, name := range prog.Names() {
			if v, ok := values[name]; ok {
				theta[i] = v
			}
		}
		j := testcheck.Get(covariance{prog, theta}.prior(t.Context(), kernel.NewPoints(rows, n, d), nil))(t)
		return j.Cov
	}
	if got := joint(false); !slices.Equal(got, want(map[string]float64{"k1.lengthscale[0]": 2, "k1.lengthscale[1]": 3})) {
		t.Errorf("covariance %v", got)
	}
	for _, s := range []struct {
		name  string
		value float64
	}{{"k1.lengthscale", 0.5}, {"k1.lengthscale[1]", 0.7}, {"k2.signal_variance", 4}, {"noise_variance", 0.25}} {
		testcheck.Do(t, p.Set(s.name, s.value))
	}
	cov := want(map[string]float64{"k1.lengthscale[0]": 0.5, "k1.lengthscale[1]": 0.7, "k2.signal_variance": 4})
	if got := joint(false); !slices.Equal(got, cov) {
		t.Errorf("covariance %v, want %v", got, cov)
	}
	for i := range n {
		cov[i*n+i] += 0.25
	}
	if got := joint(true); !slices.Equal(got, cov) {
		t.Errorf("covariance of observations %v, want %v", got, cov)
	}
	if err := p.Set("k2.lenghtscale", 1); !errors.As(err, new(*NameError)) || err.Error() != `k2.lenghtscale: there is no such parameter (did you mean "k2.lengthscale"?)` {
		t.Errorf("error %v", err)
	}
	if err := p.Set("k2.lengthscale[0]", 1); !errors.As(err, new(*NameError)) {
		t.Errorf("a number as a vector: %v", err)
	}
}

// TestTargetNamed checks that "" means the only target, and is an error with several.
func TestTargetNamed(t *testing.T) {
	one := newModel(t, 20)
	one.TargetName = "y"
	for _, name := range []string{"", "y"} {
		if m, err := one.TargetNamed(name); err != nil || m != one {
			t.Errorf("%q: %v, %v", name, m, err)
		}
	}
	two := *one
	two.Y, two.Alpha = slices.Concat(one.Y, one.Y), slices.Concat(one.Alpha, one.Alpha)
	two.Targets = []Target{{Name: "a", YScale: 1}, {Name: "b", YScale: 2}}
	if m, err := two.TargetNamed("b"); err != nil || m.TargetName != "b" || m.Scaling.YScale != 2 || m.T() != 1 {
		t.Errorf("%v, %v", m, err)
	}
	for _, c := range []struct {
		model      *Model
		name, want string
	}{
		{one, "z", `no target "z": the model's target is y`},
		{&two, "z", `no target "z": the model's targets are a, b`},
		{&two, "", "the model has several targets: a, b"},
	} {
		if _, err := c.model.TargetNamed(c.name); !errors.As(err, new(*NameError)) || err.Error() != c.want {
			t.Errorf("%q: %v, want %s", c.name, err, c.want)
		}
	}
	if TargetSeed(7, "") != 7 || TargetSeed(7, "a") == TargetSeed(7, "b") || TargetSeed(7, "a") == TargetSeed(8, "a") {
		t.Error("seeds of targets")
	}
}
