package main

import (
	"math"
	"math/rand/v2"
)

// A maker makes the rows of a table.
type maker struct {
	*rand.Rand
	x     [][]float64 // the rows before
	group []float64   // what several rows share
}

// draw returns count numbers from draw.
func draw(count int, from func() float64) []float64 {
	v := make([]float64, count)
	for i := range v {
		v[i] = from()
	}
	return v
}

// repeats has every point several times: a rough function with little noise, or a
// smooth one with much, explain it, and only repeated rows decide.
func repeats(times int, noise float64) func(m *maker, i, n int) ([]float64, float64) {
	return func(m *maker, i, _ int) ([]float64, float64) {
		if i%times == 0 {
			m.group = draw(3, m.Float64)
		}
		at := m.group
		return at, math.Sin(25*at[0]) + math.Cos(20*at[1]) + at[2] + noise*m.NormFloat64()
	}
}

// near has clusters of nearly the same point, and almost no noise.
func near(m *maker, i, _ int) ([]float64, float64) {
	if i%4 == 0 {
		m.group = []float64{4 * m.NormFloat64(), 4 * m.NormFloat64()}
	}
	at := []float64{m.group[0] + 1e-3*m.NormFloat64(), m.group[1] + 1e-3*m.NormFloat64()}
	return at, math.Sin(3*at[0])*math.Cos(2*at[1]) + 1e-3*m.NormFloat64()
}

// wiggle has a slow trend and a fast component of little size, of which each alone,
// or both, can count as noise.
func wiggle(m *maker, _, _ int) ([]float64, float64) {
	at := 10 * m.Float64()
	return []float64{at}, math.Sin(at) + 0.3*math.Sin(17*at) + 0.02*m.NormFloat64()
}

// season is a trend with a cycle of a year over 15 years.
func season(m *maker, i, n int) ([]float64, float64) {
	at := 15 * float64(i) / float64(n)
	return []float64{at}, 0.1*at*at/15 + math.Sin(2*math.Pi*at) + 0.4*math.Cos(4*math.Pi*at) + 0.2*m.NormFloat64()
}

// outliers has errors of which every fifteenth is 20 times as large.
func outliers(m *maker, _, _ int) ([]float64, float64) {
	at, e := draw(2, m.NormFloat64), 0.05*m.NormFloat64()
	if m.IntN(15) == 0 {
		e *= 20
	}
	return at, math.Sin(2*at[0]) + 0.5*at[1] + e
}

// steps has jumps: short lengthscales and little noise compete with long ones.
func steps(m *maker, _, _ int) ([]float64, float64) {
	at := 8 * m.Float64()
	return []float64{at}, math.Floor(at)*math.Mod(math.Floor(at), 3) + 0.05*m.NormFloat64()
}

// cycles has a cycle in its first column and a surface over the others.
func cycles(m *maker, _, _ int) ([]float64, float64) {
	at := []float64{40 * m.Float64(), m.NormFloat64(), m.NormFloat64()}
	return at, (1+0.5*at[1])*math.Sin(2*math.Pi*at[0]/3.7) + math.Tanh(at[2]) + 0.1*m.NormFloat64()
}

// idle has ten columns, of which seven have no effect.
func idle(m *maker, _, _ int) ([]float64, float64) {
	at := draw(10, m.NormFloat64)
	return at, math.Sin(2*at[0])*at[1] + 0.3*at[2]*at[2] + 0.3*m.NormFloat64()
}

// mixture has columns of different kinds, some rows twice, and noise of medium size.
func mixture(m *maker, i, _ int) ([]float64, float64) {
	at := []float64{m.NormFloat64(), math.Exp(m.NormFloat64()), float64(m.IntN(4)), m.Float64(), m.Float64()}
	if i%5 == 4 {
		at = m.x[i-2]
	}
	return at, math.Sin(3*at[0]) + math.Log(at[1]) + 0.5*at[2]*at[3] + 0.1*m.NormFloat64()
}

// friedman is Friedman's first function (Annals of Statistics 19, 1991) with five columns
// that have no effect.
func friedman(m *maker, _, _ int) ([]float64, float64) {
	at := draw(10, m.Float64)
	return at, 10*math.Sin(math.Pi*at[0]*at[1]) + 20*(at[2]-0.5)*(at[2]-0.5) + 10*at[3] + 5*at[4] + m.NormFloat64()
}

// clusters has points in groups, with a fine structure within and a coarse one between.
func clusters(m *maker, i, _ int) ([]float64, float64) {
	if i%15 == 0 {
		m.group = []float64{10 * m.Float64(), 10 * m.Float64()}
	}
	at := []float64{m.group[0] + 0.2*m.NormFloat64(), m.group[1] + 0.2*m.NormFloat64()}
	return at, math.Sin(0.7*at[0]) + math.Cos(0.5*at[1]) + 0.3*math.Sin(9*(at[0]-at[1])) + 0.05*m.NormFloat64()
}

// chirp is a wave whose frequency rises.
func chirp(m *maker, _, _ int) ([]float64, float64) {
	at := m.Float64()
	return []float64{at}, math.Sin(40*at*at*at) + 0.1*m.NormFloat64()
}

// levels has columns with few values, so that many rows repeat, and one that is rarely
// other than zero.
func levels(m *maker, _, _ int) ([]float64, float64) {
	at := []float64{float64(m.IntN(4)), float64(m.IntN(3)), float64(m.IntN(5)), 0}
	if m.IntN(12) == 0 {
		at[3] = 1
	}
	return at, at[0]*at[1] + 2*at[3] + math.Sin(2*at[2]) + 0.15*m.NormFloat64()
}

// correlated has eight columns that are mixtures of three.
func correlated(m *maker, i, _ int) ([]float64, float64) {
	if i == 0 {
		m.group = draw(8*3, m.NormFloat64)
	}
	f, at := draw(3, m.NormFloat64), make([]float64, 8)
	for c := range at {
		at[c] = m.group[3*c]*f[0] + m.group[3*c+1]*f[1] + m.group[3*c+2]*f[2] + 0.1*m.NormFloat64()
	}
	return at, math.Tanh(f[0]) + f[1]*f[2] + 0.5*f[1] + 0.2*m.NormFloat64()
}

// tides has two periods that are close to each other, and a trend.
func tides(m *maker, i, n int) ([]float64, float64) {
	at := 30 * (float64(i) + m.Float64()) / float64(n)
	return []float64{at}, math.Sin(2*math.Pi*at/1.03) + 0.6*math.Sin(2*math.Pi*at/2.4) + 0.002*at*at + 0.15*m.NormFloat64()
}
