package spectrum

import (
	"cmp"
	"math"
	"slices"
)

// Constants of families of lines. A period needs leastSeasonTurns. The strongest line is at most harmonic strongestHarmonic of it. Where
// more than gapOfHarmonics are missing for each found, a family ends. A period changes another one if it is sideRatio times as long, and gives up
// to mostSides sidebands on each side of a line. A line
// that is sidePower times weaker than one within sideWidth turns over the series shows slow changes of that, and
// at any distance one that is below the power of the taper's side lobes there (Harris, Proceedings of the IEEE 66, 1978).
const (
	leastSeasonTurns  = 3
	strongestHarmonic = 14
	gapOfHarmonics    = 12
	sideRatio         = 3
	mostSides         = 6.
	sidePower         = 30
	sideWidth         = 8
	taperDecay        = 6
	leakage           = 10
)

// family is a period, in steps, and the lines that are its harmonics, in ascending order.
type family struct {
	period  float64
	members []member
}

// families joins the lines of a series of n steps to periods. The period is the strongest line's, or k times as long if this explains more.
func families(all []line, n int) (out []family) {
	left := slices.Clone(all)
	for len(left) > 0 {
		best := family{}
		for k := 1; k <= strongestHarmonic; k++ {
			period := float64(k) / left[0].frequency
			if period > float64(n)/leastSeasonTurns {
				break
			}
			f := harmonics(left, period, n)
			if !slices.ContainsFunc(f, func(m member) bool { return m.line == left[0] }) || k > 1 && !multiple(f, left, k, period, n) {
				continue
			}
			if len(f) > len(best.members) {
				best = family{period, f}
			}
		}
		if best.members == nil {
			left = left[1:]
			continue
		}
		out = append(out, best.fitted())
		left = slices.DeleteFunc(left, func(l line) bool {
			return slices.ContainsFunc(best.members, func(m member) bool { return m.line == l })
		})
	}
	return withoutSidebands(out, n)
}

// harmonics returns the lines that are harmonics of a period. A large gap ends them: the 365th harmonic of a year is a day.
func harmonics(lines []line, period float64, n int) (out []member) {
	for _, l := range lines {
		h := math.Round(l.frequency * period)
		room := max(1, min(2, l.frequency/lines[0].frequency/2)) / float64(n)
		if h >= 1 && math.Abs(l.frequency-h/period) < room {
			out = append(out, member{l, int(h)})
		}
	}
	slices.SortFunc(out, func(a, b member) int { return cmp.Compare(a.frequency, b.frequency) })
	for i, m := range out {
		if m.harmonic > gapOfHarmonics*(i+1) {
			return out[:i]
		}
	}
	return out
}

// multiple reports whether lines show a k-fold period: by several lines between the harmonics of the simple one, more than chance
// gives, or by a line of its own.
func multiple(f []member, lines []line, k int, period float64, n int) bool {
	between := 0
	for _, m := range f {
		if m.harmonic%k != 0 {
			between++
		}
	}
	if between >= 2 && float64(between) > 6*period/float64(n)*float64(len(lines)) {
		return true
	}
	own := slices.ContainsFunc(lines, func(l line) bool { return math.Abs(l.frequency-1/period) < 1/float64(n) })
	return own && k <= 4 && period < float64(n)/10
}

// fitted returns the family with the period that suits all of its lines, by their powers.
func (f family) fitted() family {
	var cross, square float64
	for _, m := range f.members {
		h := float64(m.harmonic)
		cross, square = cross+m.power*h*m.frequency, square+m.power*h*h
	}
	f.period = square / cross
	return f
}

// withoutSidebands leaves out families whose every line stands beside one of a stronger period, at the distance of a stronger, longer
// one, or close to it: a season that changes with another, or slowly.
func withoutSidebands(all []family, n int) (out []family) {
	for i, f := range all {
		if !slices.ContainsFunc(f.members, func(m member) bool { return !sideband(m, f, all[:i], n) }) {
			continue
		}
		out = append(out, f)
	}
	return out
}

func sideband(m member, of family, stronger []family, n int) bool {
	frequency := float64(m.harmonic) / of.period
	for _, short := range stronger {
		if slices.ContainsFunc(short.members, func(o member) bool {
			turns := math.Abs(o.frequency-frequency) * float64(n)
			return o.power > sidePower*m.power && turns < sideWidth || o.power > m.power*math.Pow(turns, taperDecay)/leakage
		}) {
			return true
		}
		for _, long := range stronger {
			if long.period <= sideRatio*short.period {
				continue
			}
			for _, h := range []float64{max(1, math.Floor(frequency*short.period)), math.Floor(frequency*short.period) + 1} {
				for side := -mostSides; side <= mostSides; side++ {
					if side != 0 && math.Abs(frequency-h/short.period-side/long.period) < 1/float64(n) {
						return true
					}
				}
			}
		}
	}
	return false
}
