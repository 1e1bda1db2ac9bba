package main

import (
	"math"
	"slices"
)

// rowMaker makes row i of n of a table.
type rowMaker func(m *maker, i, n int) (x []float64, y float64)

// formula makes the rows of a table whose target is f of its columns with normal noise.
func formula(columns func(m *maker, i, n int) []float64, noise float64, f func(x []float64) float64) rowMaker {
	return func(m *maker, i, n int) ([]float64, float64) {
		at := columns(m, i, n)
		return at, f(at) + noise*m.NormFloat64()
	}
}

// times has one column of equal steps from 0 to the end.
func times(end float64) func(m *maker, i, n int) []float64 {
	return func(_ *maker, i, n int) []float64 { return []float64{end * float64(i) / float64(n)} }
}

// uniform has columns between −1 and 1.
func uniform(columns int) func(m *maker, i, n int) []float64 {
	return func(m *maker, _, _ int) []float64 {
		return draw(columns, func() float64 { return 2*m.Float64() - 1 })
	}
}

// normal has normal columns.
func normal(columns int) func(m *maker, i, n int) []float64 {
	return func(m *maker, _, _ int) []float64 { return draw(columns, m.NormFloat64) }
}

// skewed has log-normal columns.
func skewed(columns int) func(m *maker, i, n int) []float64 {
	return func(m *maker, _, _ int) []float64 {
		return draw(columns, func() float64 { return math.Exp(1.5 * m.NormFloat64()) })
	}
}

// copied has two normal columns, the first again, the second with another sign and scale, and a
// third that is the first but for a little noise.
func copied(m *maker, _, _ int) []float64 {
	at := draw(2, m.NormFloat64)
	return append(at, at[0], -3*at[1], at[0]+0.01*m.NormFloat64())
}

// kinds has two columns of zeros and ones, one of five kinds, and two of numbers.
func kinds(m *maker, _, _ int) []float64 {
	return append(draw(2, m.NormFloat64), float64(m.IntN(2)), float64(m.IntN(2)), float64(m.IntN(5)))
}

// again has every row of the columns several times.
func again(times int, columns func(m *maker, i, n int) []float64) func(m *maker, i, n int) []float64 {
	return func(m *maker, i, n int) []float64 {
		if i%times == 0 {
			m.group = columns(m, i, n)
		}
		return slices.Clone(m.group)
	}
}

// wave is a sine of a period.
func wave(at, period float64) float64 { return math.Sin(2 * math.Pi * at / period) }

// cycle is a wave with a trend.
func cycle(period, trend float64) func(x []float64) float64 {
	return func(x []float64) float64 { return wave(x[0], period) + trend*x[0] }
}

// harmonics has a period whose shape is not a sine, and a slow change.
func harmonics(x []float64) float64 {
	return wave(x[0], 1) + 0.6*wave(x[0]+0.1, 0.5) + 0.4*wave(x[0], 1./3) + 0.5*wave(x[0], 7)
}

// swelling is a wave that grows.
func swelling(x []float64) float64 { return x[0] * wave(x[0], 2.3) / 10 }

// beats has two periods whose sum beats.
func beats(x []float64) float64 { return wave(x[0], 1.3) + 0.7*wave(x[0], 1.7) }

// weeks has a short and a long period and a trend.
func weeks(x []float64) float64 { return 0.5*wave(x[0], 7) + wave(x[0], 91) + 0.005*x[0] }

// bowl has two columns whose effect is symmetric, and one whose effect is not; others have none.
func bowl(x []float64) float64 { return x[0]*x[0] + math.Cos(3*x[1]) + 0.5*x[2] }

// plane is nearly linear.
func plane(x []float64) float64 { return x[0] - 2*x[1] + 0.5*x[2] + 0.1*x[0]*x[0] }

// hills is smooth in two columns.
func hills(x []float64) float64 { return math.Sin(2*x[0])*math.Cos(x[1]) + 0.5*x[1] }

// kinked has kinks and plateaus.
func kinked(x []float64) float64 {
	return math.Abs(x[0]) + math.Max(-0.5, math.Min(0.5, 2*x[1])) + math.Max(0, x[0]+x[1])
}

// logs depends on the logarithms of its columns.
func logs(x []float64) float64 { return math.Log(x[0]) * math.Log(1+x[1]) / (1 + x[2]) }

// shifted has effects of kinds, alone and with a number.
func shifted(x []float64) float64 {
	return x[0] + 2*x[2] + x[2]*x[0] + math.Sin(x[1]) + 0.3*math.Mod(3*x[4], 5)
}

// rough is smooth in two columns and rough in a third.
func rough(x []float64) float64 { return hills(x) + 0.4*math.Mod(math.Floor(40*x[2]+99), 3) }

// gated is a slope that depends on another column.
func gated(x []float64) float64 { return x[0]*math.Sin(2*x[1]) + 0.5*x[2] }

// layers has fine waves along one column over a smooth surface.
func layers(x []float64) float64 { return hills(x) + 0.2*math.Sin(25*x[2]) + x[3]*x[3] }
