package spectrum

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"gpfit/internal/testcheck"
)

// series returns targets at times, with normal noise from a generator.
func series(rng *rand.Rand, times []float64, noise float64, f func(t float64) float64) []float64 {
	return testcheck.Slice(len(times), func(i int) float64 { return f(times[i]) + noise*rng.NormFloat64() })
}

// hours returns n whole numbers.
func hours(n int) []float64 { return testcheck.Slice(n, func(i int) float64 { return float64(i) }) }

// wandering returns a first-order autoregression of n steps.
func wandering(rng *rand.Rand, n int, phi float64) []float64 {
	y := make([]float64, n)
	for i := 1; i < n; i++ {
		y[i] = phi*y[i-1] + rng.NormFloat64()
	}
	return y
}

func steps(seasons []Season) []float64 {
	return testcheck.Slice(len(seasons), func(i int) float64 { return seasons[i].Steps })
}

// TestWeek finds a sharp week on 240 of 1,460 days, nothing else, and its harmonics, in nearly all of 40 series.
func TestWeek(t *testing.T) {
	right, wrong := 0, 0
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		days := testcheck.Slice(240, func(i int) float64 { return 0 })
		for i, d := range rng.Perm(1460)[:240] {
			days[i] = 19000 + float64(d)
		}
		found := Seasons(days, series(rng, days, 0.5, func(d float64) float64 { return 2 * math.Max(0, math.Mod(d, 7)-4) }))
		for _, s := range found {
			if s.Period == 7 && !s.Cycle && s.Harmonics(1, false) <= 3 {
				right++
			} else if !s.Known {
				wrong++
			}
		}
	}
	if right < 36 || wrong > 2 {
		t.Errorf("%d weeks of 40, and %d others", right, wrong)
	}
}

// TestDayAndYear finds a day whose size follows the weekday and the year, and the year itself; the sidebands of the day are no seasons.
func TestDayAndYear(t *testing.T) {
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 2))
		at := hours(50000)
		y := wandering(rng, len(at), 0.97)
		for i, h := range at {
			day, weekend := math.Cos(2*math.Pi*h/24), 1.
			if int(h/24)%7 >= 5 {
				weekend = 0.7
			}
			y[i] += (20 + 8*math.Cos(2*math.Pi*h/8766)) * weekend * (day + 0.5*day*day)
			y[i] += 15 * math.Cos(2*math.Pi*(h-700)/8766)
		}
		found := steps(Seasons(at, y))
		slices.Sort(found)
		if !slices.Equal(found, []float64{168, 8766}) {
			t.Errorf("seed %d: seasons of %v steps", seed, found)
		}
	}
}

// TestRedNoise finds seasons in few series that have none: at most one in a hundred is meant, short ones have more.
func TestRedNoise(t *testing.T) {
	for n, most := range map[int]int{500: 6, 3000: 2, 20000: 1} {
		false1 := 0
		for seed := range uint64(30) {
			rng := rand.New(rand.NewPCG(seed, uint64(n)))
			false1 += len(Seasons(hours(n), wandering(rng, n, []float64{0, 0.5, 0.95}[seed%3])))
		}
		if false1 > most {
			t.Errorf("%d seasons in 30 series of %d steps without one", false1, n)
		}
	}
}

// TestGrid checks rows in any order, with gaps, equal times and unequal months, and columns that are no grid.
func TestGrid(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	wave := func(period float64) func(float64) float64 {
		return func(x float64) float64 { return math.Sin(2 * math.Pi * x / period) }
	}
	one := func(what string, times []float64, period, want float64) {
		t.Helper()
		found := Seasons(times, series(rng, times, 0.3, wave(period)))
		if len(found) == 0 || found[0].Period != want {
			t.Errorf("%s: %+v, want a period of %v", what, found, want)
		}
	}
	var gaps, twice, months []float64
	for i := range 2500 {
		if i < 900 && (i < 300 || i > 420) {
			gaps = append(gaps, 5e8+0.25*float64(i))
		}
		twice = append(twice, float64(rng.IntN(2400)))
	}
	for year := range 20 {
		for m := range 12 {
			months = append(months, float64(year)+float64(m)/12)
		}
	}
	rng.Shuffle(len(gaps), func(i, j int) { gaps[i], gaps[j] = gaps[j], gaps[i] })
	one("gaps", gaps, 2.5, 2.5)
	one("equal times", twice, 20, 20)
	one("months", months, 1, 1)
	if found := Seasons(testcheck.Slice(200, func(int) float64 { return rng.Float64() }), make([]float64, 200)); found != nil {
		t.Errorf("random times have seasons %v", found)
	}
	if Seasons([]float64{1, 1, 1}, []float64{1, 2, 3}) != nil || Seasons([]float64{1, 2, 4}, []float64{1, 2, 3}) != nil {
		t.Error("three rows have seasons")
	}
	far := append(hours(60), 1e7)
	if found := Seasons(far, series(rng, far, 0.1, wave(7))); found != nil {
		t.Errorf("a gap of 10⁷ steps: %v", found)
	}
	if found := Seasons(hours(300), make([]float64, 300)); found != nil {
		t.Errorf("a constant target has seasons %v", found)
	}
}

// TestCycle tells a period that no calendar has from a season.
func TestCycle(t *testing.T) {
	rng, at := rand.New(rand.NewPCG(4, 4)), hours(600)
	for period, cycle := range map[float64]bool{9.47: true, 10: false, 52.178571: false, 24: false} {
		found := Seasons(at, series(rng, at, 0.2, func(x float64) float64 { return math.Cos(2 * math.Pi * x / period) }))
		if len(found) == 0 || found[0].Cycle != cycle || math.Abs(found[0].Period-period) > 0.02*period {
			t.Errorf("period %v: %+v", period, found)
		}
	}
}

// TestCalendar adds the year to a day of hours, and not before the series has a turn of it.
func TestCalendar(t *testing.T) {
	for n, want := range map[int][]float64{8000: {24}, 9000: {24, 8766}} {
		rng, at := rand.New(rand.NewPCG(5, 5)), hours(n)
		found := Seasons(at, series(rng, at, 1, func(x float64) float64 { return math.Cos(2 * math.Pi * x / 24) }))
		if got := steps(found); !slices.Equal(got, want) || found[len(found)-1].Known != (n == 9000) {
			t.Errorf("%d hours: %v, want %v", n, got, want)
		}
	}
}

// TestLines compares the spectrum with a Fourier sum, and the power of a line with the square of its amplitude.
func TestLines(t *testing.T) {
	y := testcheck.Slice(200, func(i int) float64 { return 3*math.Cos(2*math.Pi*float64(i)/10+1) + 1e-3*math.Sin(float64(i*i)) })
	y[17] = math.NaN()
	power, squares, sum := tapered(y)
	m := 2 * (len(power) - 1)
	if m != fastLength(400) || m < 400 {
		t.Fatalf("%d frequencies", len(power))
	}
	found := lines(y)
	if len(found) == 0 || math.Abs(found[0].frequency-0.1) > 1e-4 || math.Abs(found[0].power-9) > 0.3 {
		t.Errorf("lines %+v", found)
	}
	if !(squares > 0 && sum > squares) {
		t.Errorf("sums of the taper %v and %v", squares, sum)
	}
	for n, want := range map[int]int{1: 2, 7: 8, 11: 12, 13: 16, 121: 128, 199998: 200000} {
		if got := fastLength(n); got != want {
			t.Errorf("a fast length of %d is %d, want %d", n, got, want)
		}
	}
}

// TestJitter finds a week of 5,000 days whose rows stand at irregular times of the day, with missing days, too, and the step of their grid;
// times without one have none.
func TestJitter(t *testing.T) {
	for seed := range uint64(24) {
		rng := rand.New(rand.NewPCG(seed, 7))
		jitter, missing := []float64{0.1, 0.2, 0.3, 0.4}[seed%4], []float64{0, 0, 0.2}[seed%3]
		var days []float64
		for d := range 5000 {
			if rng.Float64() >= missing {
				days = append(days, 300+float64(d)+jitter*(2*rng.Float64()-1))
			}
		}
		noise := wandering(rng, 5000, 0.8)
		y := series(rng, days, 0.5, func(d float64) float64 { return 0.7*math.Sin(2*math.Pi*d/7) + noise[max(0, min(4999, int(d)-300))] })
		found := Seasons(days, y)
		if len(found) == 0 || found[0].Steps != 7 || found[0].Cycle || found[0].Period != 7 {
			t.Errorf("jitter %v, missing %v: %+v", jitter, missing, found)
		}
		slices.Sort(days)
		if step, _ := jittered(days); math.Abs(step-1) > 2e-5 {
			t.Errorf("jitter %v, missing %v: step %v", jitter, missing, step)
		}
		for i := range days {
			days[i] = days[max(i-1, 0)] + rng.ExpFloat64()
		}
		for _, n := range []int{20, 60, 300, 1000, len(days)} {
			if step, _ := jittered(days[:n]); step != 0 {
				t.Errorf("step %v of %d random times", step, n)
			}
		}
	}
}

// TestAmplitudes compares the amplitudes of a picture with sums over all rows, and the lines of a day and a week with their own.
func TestAmplitudes(t *testing.T) {
	at := hours(4000)
	for i := range at {
		at[i] = 10 + at[i]/24 // days
	}
	y := series(rand.New(rand.NewPCG(1, 8)), at, 1, func(d float64) float64 {
		return 5*math.Sin(2*math.Pi*d) + 2*math.Cos(4*math.Pi*d) + 3*math.Sin(2*math.Pi*d/7)
	})
	periods, amplitudes := Amplitudes(at, y, 300)
	offset, slope := stat.LinearRegression(at, y, nil, false)
	for k, p := range periods {
		var c, s, sum float64
		for i, d := range at {
			taper := math.Pow(math.Sin(math.Pi*(float64(i)+0.5)/4000), 2)
			sin, cos := math.Sincos(2 * math.Pi * d / p)
			v := taper * (y[i] - offset - slope*d)
			c, s, sum = c+v*cos, s+v*sin, sum+taper
		}
		testcheck.Within(t, amplitudes[k], 2*math.Hypot(c, s)/sum, 1e-9, "amplitude of period %v", p)
	}
	if len(periods) < 150 || len(periods) > 301 {
		t.Errorf("%d periods", len(periods))
	}
	want := map[float64]float64{1: 5, 0.5: 2, 7: 3}
	for _, season := range Seasons(at, y) {
		lines, sizes := season.Lines()
		for k, p := range lines {
			testcheck.Within(t, sizes[k], want[p], 0.1, "line %v", p)
			delete(want, p)
		}
	}
	if len(want) > 0 {
		t.Errorf("no lines %v", want)
	}
}

// TestRandomTimes finds the week of 5,000 days whose rows are nearly half a day off, and as a cycle where rows come at random.
func TestRandomTimes(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 4))
		days, anywhere := hours(5000), hours(5000)
		for i := range days {
			days[i] += 0.45 * (2*rng.Float64() - 1)
			anywhere[i] = 5000 * rng.Float64()
		}
		wave := func(x float64) float64 { return 0.6 * math.Sin(2*math.Pi*x/7) }
		if found := Seasons(days, series(rng, days, 1, wave)); len(found) == 0 || found[0].Steps != 7 || math.Abs(found[0].Period-7) > 2e-4 || found[0].Cycle {
			t.Errorf("seed %d, nearly half a day off: %+v", seed, found)
		}
		if found := Seasons(anywhere, series(rng, anywhere, 1, wave)); len(found) == 0 || math.Abs(found[0].Period-7) > 0.01 || !found[0].Cycle {
			t.Errorf("seed %d, at random: %+v", seed, found)
		}
	}
}

// TestGrossErrors finds a day and a week among gross errors of 2 % of the hours.
func TestGrossErrors(t *testing.T) {
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 5))
		at := hours(3000)
		y := series(rng, at, 0.5, func(h float64) float64 { return math.Sin(2*math.Pi*h/24) + 0.5*math.Sin(2*math.Pi*h/168) })
		for _, i := range rng.Perm(len(y))[:60] {
			y[i] += 20 * rng.NormFloat64()
		}
		if found := steps(Seasons(at, y)); len(found) < 2 || found[0] != 24 || found[1] != 168 {
			t.Errorf("seed %d: seasons of %v steps", seed, found)
		}
	}
}

// TestPartOfWeek finds the week of 240 of 1,460 days whose levels have nearly all power in one harmonic.
func TestPartOfWeek(t *testing.T) {
	for seed := range uint64(10) {
		for k := range 3 {
			rng := rand.New(rand.NewPCG(seed, 6))
			days := hours(1460)
			days = testcheck.Slice(240, func(i int) float64 {
				j := i + rng.IntN(len(days)-i)
				days[i], days[j] = days[j], days[i]
				return days[i]
			})
			y := series(rng, days, 0.1, func(d float64) float64 { return math.Sin(2*math.Pi*float64(k+1)*d/7) + math.Sin(d/200) })
			if found := Seasons(days, y); len(found) == 0 || found[0].Steps != 7 || found[0].Period != 7 || found[0].Cycle {
				t.Errorf("seed %d, harmonic %d: %+v", seed, k+1, found)
			}
		}
	}
}
