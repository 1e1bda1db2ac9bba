package kernel

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// definition is a family's formula for one pair, written out once more from its
// textbook form: x and y are the chosen columns, p a parameter of column q (the
// same for all of them in an isotropic leaf). size is what an error is
// relative to.
type definition func(x, y []float64, degree int, p func(name string, q int) float64) (value, size float64)

func stationary(f func(r float64, p func(string, int) float64) float64) definition {
	return func(x, y []float64, _ int, p func(string, int) float64) (float64, float64) {
		r := 0.0
		for q := range x {
			r = math.Hypot(r, (x[q]-y[q])/p("lengthscale", q))
		}
		v := f(r, p)
		return v, v
	}
}

var definitions = map[string]definition{
	"rbf":      stationary(func(r float64, _ func(string, int) float64) float64 { return math.Exp(-r * r / 2) }),
	"matern12": stationary(func(r float64, _ func(string, int) float64) float64 { return math.Exp(-r) }),
	"matern32": stationary(func(r float64, _ func(string, int) float64) float64 {
		return (1 + math.Sqrt(3)*r) * math.Exp(-math.Sqrt(3)*r)
	}),
	"matern52": stationary(func(r float64, _ func(string, int) float64) float64 {
		return (1 + math.Sqrt(5)*r + 5*r*r/3) * math.Exp(-math.Sqrt(5)*r)
	}),
	"rq": stationary(func(r float64, p func(string, int) float64) float64 {
		a := p("alpha", 0)
		return math.Pow(1+r*r/(2*a), -a)
	}),
	// The product of the columns' kernels.
	"periodic": func(x, y []float64, _ int, p func(string, int) float64) (float64, float64) {
		v := 1.0
		for q := range x {
			s := math.Sin(math.Pi*(x[q]-y[q])/p("period", q)) / p("lengthscale", q)
			v *= math.Exp(-2 * s * s)
		}
		return v, v
	},
	"linear": func(x, y []float64, _ int, p func(string, int) float64) (v, size float64) {
		for q := range x {
			term := x[q] / p("lengthscale", q) * y[q] / p("lengthscale", q)
			v, size = v+term, size+math.Abs(term)
		}
		return v, size
	},
	"poly": func(x, y []float64, degree int, p func(string, int) float64) (float64, float64) {
		v := p("offset", 0)
		size := v
		for q := range x {
			term := x[q] / p("lengthscale", q) * y[q] / p("lengthscale", q)
			v, size = v+term, size+math.Abs(term)
		}
		return math.Pow(v, float64(degree)), float64(degree) * math.Pow(size, float64(degree))
	},
	"cosine": func(x, y []float64, _ int, p func(string, int) float64) (float64, float64) {
		sum, size := 0.0, 1.0
		for q := range x {
			turns := (x[q] - y[q]) / p("period", q)
			sum, size = sum+turns, size+2*math.Pi*math.Abs(turns)
		}
		return math.Cos(2 * math.Pi * sum), size
	},
	"constant": func(_, _ []float64, _ int, _ func(string, int) float64) (float64, float64) { return 1, 1 },
}

func TestFamiliesAgainstFormulas(t *testing.T) {
	const d = 3
	for _, name := range Families() {
		formula := definitions[name]
		if formula == nil {
			t.Fatalf("no reference formula for %s", name)
		}
		for _, args := range []string{"", "ard", "dims=[2, 0]", "ard, dims=[2, 0]"} {
			degrees := []int{0}
			if name == "poly" {
				degrees = []int{1, 2, 3, 7}
			}
			for _, degree := range degrees {
				text := name + "(" + args + ")"
				if degree > 0 && args != "" {
					text = name + "(" + strconv.Itoa(degree) + ", " + args + ")"
				} else if degree > 0 {
					text = name + "(" + strconv.Itoa(degree) + ")"
				}
				checkFormula(t, mustCompile(t, text, d), degree, formula)
			}
		}
	}
}

func checkFormula(t *testing.T, p *Program, degree int, formula definition) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	dims := Columns(p.D)
	for _, f := range p.Features {
		dims = f.Dims
	}
	for range 50 {
		theta := randomTheta(rng, p)
		parameter := func(name string, q int) float64 {
			for _, param := range p.Params {
				switch {
				case param.Name == name && param.Vector:
					return theta[param.Offset+q]
				case param.Name == name:
					return theta[param.Offset]
				}
			}
			return 1
		}
		x, y := make([]float64, p.D), make([]float64, p.D)
		for c := range x {
			x[c], y[c] = rng.NormFloat64(), rng.NormFloat64()
		}
		pick := func(x []float64) (out []float64) {
			for _, c := range dims {
				out = append(out, x[c])
			}
			return out
		}
		for _, other := range [][]float64{y, x} {
			want, size := formula(pick(x), pick(other), degree, parameter)
			variance := parameter(signalVariance, 0)
			if got := eval(p, theta, x, other); !(math.Abs(got-variance*want) <= relTol*variance*size) {
				t.Errorf("%s at %v: k = %v, want %v", p.Text, theta, got, variance*want)
			}
		}
		if got, variance := eval(p, theta, x, x), parameter(signalVariance, 0); p.Stationary() && got != variance {
			t.Errorf("%s: k(x, x) = %v, want the signal variance %v exactly", p.Text, got, variance)
		}
	}
}

// TestHugeArguments: waves far out keep the phase of their rounded argument,
// powers and logarithms the limits of their formulas.
func TestHugeArguments(t *testing.T) {
	for _, c := range []struct {
		text  string
		theta []float64
		x     float64
		want  float64
	}{
		{"cosine", []float64{4, 2}, 4*1e15 + 1, 2 * math.Cos(math.Pi/2)},
		{"cosine", []float64{0.5, 2}, 1e200, 2},
		{"periodic", []float64{1, 4, 1}, 4*1e14 + 2, math.Exp(-2)},
		{"periodic", []float64{1, 4, 1}, 4e200, 1},
		{"rq", []float64{1, 1e9, 1}, 1, math.Exp(-0.5)}, // the limit for large α is rbf
		{"rq", []float64{1, 0.5, 1}, 1e150, 1e-150},
		{"rq", []float64{1, 0.5, 1}, 1e200, 0}, // r² is infinite
	} {
		got := eval(mustCompile(t, c.text, 1), c.theta, []float64{c.x}, []float64{0})
		if math.Abs(got-c.want) > 2e-9*c.want && math.Abs(got-c.want) > 3e-15 {
			t.Errorf("%s at %v, distance %v: %v, want %v", c.text, c.theta, c.x, got, c.want)
		}
	}
}
