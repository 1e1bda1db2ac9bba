package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/internal/testcheck"
)

// TestRotated compares rotated distances with the textbook formulas on turned columns, and their derivatives with central
// differences, for a tilt of either sign.
func TestRotated(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	for _, name := range []string{"rbf", "matern12", "matern32", "matern52", "matern", "rq", "wendland"} {
		f := families[slices.Index(Families(), name)]
		if !f.takesDistances() {
			t.Fatalf("%s has no rotated distances", name)
		}
		for args, columns := range map[string][]int{"rotated": {0, 1}, "rotated, dims=[2, 0]": {2, 0}} {
			p := mustCompile(t, name+"("+args+")", 1+slices.Max(columns))
			checkGradient(t, p, 7)
			checkInputGradient(t, p, 7)
			for range 20 {
				theta, x, y := randomTheta(rng, p), randomPoints(rng, 1, p.D).X, randomPoints(rng, 1, p.D).X
				place := slices.Index(p.Names(), "tilt")
				theta[place] = rng.NormFloat64()
				turned := func(x []float64) []float64 {
					u, v := x[columns[0]]/theta[0], x[columns[1]]/theta[1]
					return []float64{u, v - theta[place]*u}
				}
				want, size := definitions[name](turned(x), turned(y), f.number().orNone(), func(name string, _ int) float64 {
					if i := slices.Index(p.Names(), name); i >= 0 && name != "lengthscale" {
						return theta[i]
					}
					return 1
				})
				variance := theta[slices.Index(p.Names(), signalVariance)]
				if got := eval(p, theta, x, y); !(math.Abs(got-variance*want) <= 20*relTol*variance*size) {
					t.Errorf("%s at %v: %v, want %v", p.Text, theta, got, variance*want)
				}
			}
		}
	}
}

// orNone returns the standard number, 0 for none.
func (n *number) orNone() int {
	if n == nil {
		return 0
	}
	return n.standard
}

// TestRotatedTurns checks that points and axes turned together keep every covariance: some ρ and tilt belong to each
// direction.
func TestRotatedTurns(t *testing.T) {
	p := mustCompile(t, "matern32(rotated)", 2)
	q := mustCompile(t, "matern32(ard)", 2)
	rng := rand.New(rand.NewPCG(3, 1))
	for range 100 {
		along, across, angle := math.Exp(rng.NormFloat64()), math.Exp(rng.NormFloat64()), math.Pi*rng.Float64()
		sin, cos := math.Sincos(angle)
		// The form (cos a + sin b)²/along² + (−sin a + cos b)²/across² as aa·a² + 2ab·ab + bb·b².
		aa := cos*cos/along/along + sin*sin/across/across
		bb := sin*sin/along/along + cos*cos/across/across
		ab := sin * cos * (1/along/along - 1/across/across)
		second := 1 / math.Sqrt(bb)
		first := 1 / math.Sqrt(aa-ab*ab/bb)
		theta := []float64{first, second, -ab * first * second, 1}
		x, y := randomPoints(rng, 1, 2).X, randomPoints(rng, 1, 2).X
		turned := func(x []float64) []float64 { return []float64{cos*x[0] + sin*x[1], cos*x[1] - sin*x[0]} }
		got, want := eval(p, theta, x, y), eval(q, []float64{along, across, 1}, turned(x), turned(y))
		if !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("%v at %v: %v, want %v", theta, angle, got, want)
		}
	}
}

// TestRotatedText checks names and texts.
func TestRotatedText(t *testing.T) {
	for text, want := range map[string]string{
		"rbf(rotated)": "lengthscale[0] lengthscale[1] tilt signal_variance",
		"matern(2.5, rotated, dims=[1, 0], lengthscale=[2, 3], tilt=-0.5~real)": "lengthscale[1] lengthscale[0] tilt signal_variance",
		"rbf(rotated) + rq(dims=1)": "k1.lengthscale[0] k1.lengthscale[1] k1.tilt k1.signal_variance k2.lengthscale k2.alpha k2.signal_variance",
	} {
		p := mustCompile(t, text, 2)
		if got := strings.Join(p.Names(), " "); got != want {
			t.Errorf("%s: parameters %s, want %s", text, got, want)
		}
		if p.Text != text || Unproved(testcheck.Get(Parse(text))(t)) {
			t.Errorf("%s: text %s", text, p.Text)
		}
	}
	if e := testcheck.Get(Parse("rbf(ard, rotated, tilt=-2)"))(t); e.String() != "rbf(rotated, tilt=-2~real)" {
		t.Errorf("the text is %s", e)
	}
	for text, want := range map[string]string{
		"rbf(rotated, dims=[0, 1, 2])": "two columns, not 3",
		"rbf(rotated, rotated)":        "of one kind",
		"rbf(rotate)":                  "did you mean \"rotated\"",
		"arcsine(rotated)":             "no argument \"rotated\"",
		"rbf(tilt=1)":                  "no argument \"tilt\"",
		"rbf(rotated, tilt=x)":         "is a number",
	} {
		e, err := Parse(text)
		if err == nil {
			_, err = Compile(e, Columns(3))
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "kernel: kernel") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// headsOfDistances are the families that take other distances, with all their numbers.
func headsOfDistances() (out []string) {
	for _, f := range families {
		switch {
		case !f.takesDistances():
		case f.own != nil:
			for k := range f.own.count {
				out = append(out, f.Name+"("+strconv.FormatFloat(f.own.of(k+1), 'g', -1, 64)+", ")
			}
		default:
			out = append(out, f.Name+"(lengthscale=1, ")
		}
	}
	return out
}

// places draws places on the whole sphere, near the poles and the date line, too.
func places(rng *rand.Rand, n int) *Points {
	x := &Points{N: n, D: 2, X: make([]float64, 2*n)}
	for i := range n {
		x.X[i], x.X[n+i] = 180/math.Pi*math.Asin(2*rng.Float64()-1), 720*rng.Float64()-360
		switch i % 10 {
		case 0:
			x.X[i] = 90 - 1e-3*rng.Float64()
		case 1:
			x.X[n+i] = 180 + 1e-6*rng.NormFloat64()
		}
	}
	return x
}

// TestSphere compares places on a sphere with the same family on three coordinates of these places, and derivatives with central
// differences.
func TestSphere(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	x := places(rng, 200)
	const radius = 180 / math.Pi
	space := &Points{N: x.N, D: 3, X: make([]float64, 3*x.N)}
	for i := range x.N {
		sinLat, cosLat := math.Sincos(x.X[i] / radius)
		sinLon, cosLon := math.Sincos(x.X[x.N+i] / radius)
		space.X[i], space.X[x.N+i], space.X[2*x.N+i] = radius*cosLat*cosLon, radius*cosLat*sinLon, radius*sinLat
	}
	for _, head := range headsOfDistances() {
		p := mustCompile(t, head+"sphere)", 2)
		checkGradient(t, p, 7)
		checkInputGradient(t, p, 7)
		q := mustCompile(t, strings.TrimSuffix(head, ", ")+")", 3)
		theta := randomTheta(rng, p)
		theta[0] = 20
		got, want := make([]float64, x.N), make([]float64, x.N)
		for i := range x.N {
			bound(p, theta).Row(got, x, i, x, 0, x.N)
			bound(q, theta).Row(want, space, i, space, 0, x.N)
			for j := range got {
				if d := math.Abs(got[j] - want[j]); !(d <= 1e-9) {
					t.Fatalf("%s: places %d and %d: %v, want %v", p.Text, i, j, got[j], want[j])
				}
			}
		}
	}
}

// TestSpherePositive checks that every family is positive definite on places of the whole sphere, but for rounding.
func TestSpherePositive(t *testing.T) {
	n := 300
	if testcheck.Long() {
		n = 2000
	}
	x := places(rand.New(rand.NewPCG(13, 1)), n)
	for _, head := range headsOfDistances() {
		p := mustCompile(t, head+"sphere)", 2)
		theta := slices.Repeat([]float64{1}, p.NumParams)
		for _, theta[0] = range []float64{5, 60, 400} {
			k := mat.NewSymDense(n, nil)
			row, e := make([]float64, n), bound(p, theta)
			for i := range n {
				e.Row(row, x, i, x, 0, n)
				for j := range n {
					k.SetSym(i, j, row[j])
				}
			}
			for i := range n {
				k.SetSym(i, i, k.At(i, i)+1e-12*float64(n)) // for rounding
			}
			var factor mat.Cholesky
			if !factor.Factorize(k) {
				t.Errorf("%s with lengthscale %v is not positive definite", p.Text, theta[0])
			}
		}
	}
}

// TestSphereNearby compares exp(-distance) on a small map with distances along the surface by the haversine formula.
func TestSphereNearby(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 1))
	p := mustCompile(t, "matern12(sphere)", 2)
	for range 100 {
		lat, lon := 47+rng.Float64(), 8+rng.Float64()
		x, y := []float64{lat, lon}, []float64{47 + rng.Float64(), 8 + rng.Float64()}
		a := math.Pow(math.Sin((x[0]-y[0])*math.Pi/360), 2) + math.Cos(x[0]*math.Pi/180)*math.Cos(y[0]*math.Pi/180)*math.Pow(math.Sin((x[1]-y[1])*math.Pi/360), 2)
		arc := 360 / math.Pi * math.Asin(math.Sqrt(a))
		if got, want := eval(p, []float64{0.5, 1}, x, y), math.Exp(-arc/0.5); math.Abs(got-want) > 1e-4*want {
			t.Errorf("%v, %v: %v, want %v", x, y, got, want)
		}
	}
}

// TestSphereText checks names, texts and errors.
func TestSphereText(t *testing.T) {
	for _, text := range []string{"rbf(sphere)", "matern(2.5, sphere, dims=[1, 0], lengthscale=2)", "matern32(sphere) + linear"} {
		p := mustCompile(t, text, 2)
		if p.Text != text || Unproved(testcheck.Get(Parse(text))(t)) {
			t.Errorf("%s: text %s", text, p.Text)
		}
		if e := WithARD(testcheck.Get(Parse(text))(t)); !strings.Contains(e.String(), "sphere") {
			t.Errorf("%s with ard is %s", text, e)
		} else if _, err := Compile(e, Columns(2)); err != nil {
			t.Errorf("%s: %v", e, err)
		}
	}
	for text, want := range map[string]string{
		"rbf(sphere, dims=[0, 1, 2])": "two columns, not 3",
		"rbf(sphere, ard)":            "of one kind",
		"rbf(ard, sphere)":            "of one kind",
		"rbf(sphere, sphere)":         "of one kind",
		"rbf(rotated, sphere)":        "of one kind",
		"rbf(sphere, rotated)":        "of one kind",
		"periodic(sphere)":            "no argument \"sphere\"",
	} {
		e, err := Parse(text)
		if err == nil {
			_, err = Compile(e, Columns(3))
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "kernel: kernel") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
