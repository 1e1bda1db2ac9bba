package kernel

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// definition is a family's formula for one pair, written again from its textbook
// form: x and y are the chosen columns, p a parameter of column q (the same for all
// of them in an isotropic leaf). Errors are relative to size.
type definition func(x, y []float64, degree int, p parameters) (value, size float64)

// parameters returns a parameter of column q.
type parameters = func(name string, q int) float64

// inner returns Σ x_q y_q/ρ_q² and the sum of the magnitudes.
func inner(x, y []float64, p parameters) (sum, size float64) {
	for q := range x {
		term := x[q] / p("lengthscale", q) * (y[q] / p("lengthscale", q))
		sum, size = sum+term, size+math.Abs(term)
	}
	return sum, size
}

func stationary(f func(r float64, p parameters) float64) definition {
	return func(x, y []float64, _ int, p parameters) (float64, float64) {
		r := 0.0
		for q := range x {
			r = math.Hypot(r, (x[q]-y[q])/p("lengthscale", q))
		}
		v := f(r, p)
		return v, v
	}
}

var definitions = map[string]definition{
	"rbf":      stationary(func(r float64, _ parameters) float64 { return math.Exp(-r * r / 2) }),
	"matern12": stationary(func(r float64, _ parameters) float64 { return math.Exp(-r) }),
	"matern32": stationary(func(r float64, _ parameters) float64 { return (1 + math.Sqrt(3)*r) * math.Exp(-math.Sqrt(3)*r) }),
	"matern52": stationary(func(r float64, _ parameters) float64 {
		return (1 + math.Sqrt(5)*r + 5*r*r/3) * math.Exp(-math.Sqrt(5)*r)
	}),
	"rq": stationary(func(r float64, p parameters) float64 { return math.Pow(1+r*r/(2*p("alpha", 0)), -p("alpha", 0)) }),
	// The product of the columns' kernels.
	"periodic": func(x, y []float64, _ int, p parameters) (float64, float64) {
		v := 1.0
		for q := range x {
			s := math.Sin(math.Pi*(x[q]-y[q])/p("period", q)) / p("lengthscale", q)
			v *= math.Exp(-2 * s * s)
		}
		return v, v
	},
	"linear": func(x, y []float64, _ int, p parameters) (float64, float64) { return inner(x, y, p) },
	"poly": func(x, y []float64, degree int, p parameters) (float64, float64) {
		v, size := inner(x, y, p)
		c, power := p("offset", 0), float64(degree)
		return math.Pow(c+v, power), power * math.Pow(c+size, power)
	},
	"cosine": func(x, y []float64, _ int, p parameters) (float64, float64) {
		sum, size := 0.0, 1.0
		for q := range x {
			turns := (x[q] - y[q]) / p("period", q)
			sum, size = sum+turns, size+2*math.Pi*math.Abs(turns)
		}
		return math.Cos(2 * math.Pi * sum), size
	},
	// By the recursion of the reverse Bessel polynomials θ_n = (2n−1)θ_(n−1) + t²θ_(n−2).
	"matern": func(x, y []float64, degree int, p parameters) (float64, float64) {
		order := float64(degree - 1)
		bessel := func(t float64) float64 {
			before, now := 1.0, 1.0
			for n := 1.0; n <= order; n++ {
				next := (2*n-1)*now + t*t*before
				if n == 1 {
					next = 1 + t
				}
				before, now = now, next
			}
			return now
		}
		return stationary(func(r float64, _ parameters) float64 {
			t := math.Sqrt(2*order+1) * r
			return bessel(t) / bessel(0) * math.Exp(-t)
		})(x, y, 0, p)
	},
	// R&W eq. 4.21.
	"wendland": func(x, y []float64, degree int, p parameters) (float64, float64) {
		v, _ := stationary(func(r float64, _ parameters) float64 {
			if r >= 1 {
				return 0
			}
			j := math.Floor(float64(len(x))/2) + float64(degree)
			switch degree {
			case 1:
				return math.Pow(1-r, j)
			case 2:
				return math.Pow(1-r, j+1) * ((j+1)*r + 1)
			}
			return math.Pow(1-r, j+2) * ((j*j+4*j+3)*r*r + (3*j+6)*r + 3) / 3
		})(x, y, 0, p)
		return v, 10
	},
	// R&W eq. 4.29, with augmented vectors.
	"arcsine": func(x, y []float64, _ int, p parameters) (float64, float64) {
		augmented := func(x, y []float64) float64 { sum, _ := inner(x, y, p); return p("offset", 0) + sum }
		sine := 2 * augmented(x, y) / (math.Sqrt(1+2*augmented(x, x)) * math.Sqrt(1+2*augmented(y, y)))
		return 2 / math.Pi * math.Asin(sine), 1 + 1/(1-math.Abs(sine))
	},
	// R&W eq. 4.32.
	"gibbs": func(x, y []float64, _ int, p parameters) (float64, float64) {
		squared := func(x []float64) float64 {
			mean := floats.Sum(x) / float64(len(x))
			return math.Pow(p("lengthscale_low", 0), 1-mean) * math.Pow(p("lengthscale_high", 0), 1+mean)
		}
		a, b, r := squared(x), squared(y), floats.Distance(x, y, 2)
		return math.Pow(2*math.Sqrt(a*b)/(a+b), float64(len(x))/2) * math.Exp(-r*r/(a+b)), 10
	},
	// The product over columns of 1 for equal values and exp(−1/ρ²) otherwise.
	"hamming": func(x, y []float64, _ int, p parameters) (float64, float64) {
		v := 1.0
		for q := range x {
			if x[q] != y[q] {
				v *= math.Exp(-1 / (p("lengthscale", q) * p("lengthscale", q)))
			}
		}
		return v, 1
	},
	"constant": func(_, _ []float64, _ int, _ parameters) (float64, float64) { return 1, 1 },
}

func TestFamiliesAgainstFormulas(t *testing.T) {
	const d = 3
	for _, name := range Families() {
		formula := definitions[name]
		if formula == nil {
			t.Fatalf("no reference formula for %s", name)
		}
		for _, args := range []string{"", "ard", "dims=[2, 0]", "ard, dims=[2, 0]"} {
			for _, number := range numbers[name] {
				text := strings.TrimSuffix(name+"("+number+", "+args, ", ") + ")"
				p := mustCompile(t, text, d)
				e, _ := Parse(text)
				checkFormula(t, p, e.(*Leaf).Degree, formula)
			}
			if numbers[name] == nil {
				checkFormula(t, mustCompile(t, name+"("+args+")", d), 0, formula)
			}
		}
	}
}

// numbers are the numbers in parentheses of families that have one.
var numbers = map[string][]string{
	"poly": {"1", "2", "degree=3", "7"}, "matern": {"0.5", "1.5", "nu=3.5", "10.5"}, "wendland": {"0", "q=1", "2"},
}

// TestMaternOrders checks that the separately named families equal orders of matern.
func TestMaternOrders(t *testing.T) {
	for nu, name := range map[string]string{"0.5": "matern12", "1.5": "matern32", "2.5": "matern52"} {
		got, want := mustCompile(t, "matern("+nu+")", 2), mustCompile(t, name, 2)
		for _, x := range [][]float64{{0, 0}, {0.3, -1}, {20, 3}} {
			theta := []float64{0.8, 1.5}
			if a, b := eval(got, theta, x, []float64{0, 0}), eval(want, theta, x, []float64{0, 0}); math.Abs(a-b) > relTol*b {
				t.Errorf("matern(%s) at %v: %v, %s %v", nu, x, a, name, b)
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
		x, y := randomPoints(rng, p.D, 1).X, randomPoints(rng, p.D, 1).X
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

// TestHugeArguments checks that waves keep the phase of their rounded argument for huge
// arguments, and that powers and logarithms reach the limits of their formulas.
func TestHugeArguments(t *testing.T) {
	for _, c := range []struct {
		text    string
		theta   []float64
		x, want float64
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
