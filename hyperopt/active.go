package hyperopt

import (
	"math"
	"slices"
)

// bound reports whether parameter i is at a bound that f pushes outwards.
func (l *local) bound(i int, z, g []float64) bool {
	side, b := l.p.clamps[i].near(z[i])
	return outward(side, g[i]) && (z[i] == b || !l.direct[i])
}

// inward reports whether f pushes parameter i off the bound at which it is
// pinned, or in whose tail the clamp hardly lets it move.
func (l *local) inward(i int) bool {
	if l.p.fixed[i] {
		return false
	}
	side := l.pinned[i]
	if c := l.p.clamps[i]; side == NoSide && !l.direct[i] && c.bounded() && c.slope(c.invert(l.at.z[i])) < stuckSlope {
		side, _ = c.near(l.at.z[i])
	}
	return outward(side, -l.at.g[i])
}

// maxReleases bounds how often a parameter is released before the others have
// converged: one that is pinned again and again would make them zigzag.
const maxReleases = 2

// settled reports whether the parameters that are not pinned have converged.
func (l *local) settled() bool {
	for i, g := range l.at.g {
		if !l.p.fixed[i] && l.pinned[i] == NoSide && math.Abs(g) > l.s.GradientTolerance && !l.bound(i, l.at.z, l.at.g) {
			return false
		}
	}
	return l.s.GradientTolerance >= 0
}

// stuck reports whether the largest gradient component belongs to a parameter
// that f pushes off its bound but the clamp holds back.
func (l *local) stuck() bool {
	norm := l.norm(l.at.z, l.at.g)
	for i, g := range l.at.g {
		if math.Abs(g) == norm && l.inward(i) && l.released[i] < maxReleases {
			return true
		}
	}
	return false
}

// hit reports whether a parameter that moves without a clamp has come to its
// bound, which f pushes it across.
func (l *local) hit() bool {
	for i, direct := range l.direct {
		if direct && l.pinned[i] == NoSide && !l.p.fixed[i] && l.bound(i, l.at.z, l.at.g) {
			return true
		}
	}
	return false
}

// finish settles what is left once descend has ended: parameters at a bound that
// f pushes outwards are put exactly on it and pinned there, those pushed inwards
// that could not move are released. It reports whether there is reason to
// descend again.
//
// Where f is higher on the bound than near it, or undefined, the minimum is so
// close to the bound that it lies where the clamp bends, and all its curvatures
// with it: L-BFGS would creep. Such a parameter goes on without its clamp, and
// steps end where it meets its bound.
func (l *local) finish() (again bool, err error) {
	if best := l.ev.best; best.f < l.at.f-noise(l.at.f) && !l.reverted {
		// A trial that the line search passed over was better: rare.
		l.reverted = true
		ok, err := l.move(best.z, best.f)
		if ok {
			clear(l.pinned)
		}
		if ok || err != nil {
			return ok, err
		}
	}
	var idx []int
	for i, z := range l.at.z {
		if !l.p.fixed[i] && l.pinned[i] == NoSide && l.bound(i, l.at.z, l.at.g) {
			if side, b := l.p.clamps[i].near(z); z == b {
				l.pinned[i], again = side, true // already there
			} else {
				idx = append(idx, i)
			}
		}
	}
	if ok, err := l.pin(idx); ok || err != nil {
		return ok, err
	}
	if len(idx) == 1 {
		l.direct[idx[0]] = true
		return true, nil
	}
	for _, i := range idx {
		ok, err := l.pin([]int{i})
		if err != nil {
			return false, err
		}
		l.direct[i] = !ok
	}
	if again || len(idx) > 0 {
		return true, nil
	}
	return l.release(), nil
}

// pin puts the parameters, all near a bound, on it, unless f is higher there.
func (l *local) pin(idx []int) (ok bool, err error) {
	if len(idx) == 0 {
		return false, nil
	}
	z := slices.Clone(l.at.z)
	for _, i := range idx {
		_, z[i] = l.p.clamps[i].near(z[i])
	}
	if ok, err = l.move(z, l.at.f+noise(l.at.f)); ok {
		for _, i := range idx {
			l.pinned[i], _ = l.p.clamps[i].near(z[i])
		}
	}
	return ok, err
}

// release lets the parameters pushed inwards go on without their clamp, which
// holds them back. It reports whether there are any.
func (l *local) release() bool {
	any := false
	for i, g := range l.at.g {
		if math.Abs(g) > math.Max(0, l.s.GradientTolerance) && l.inward(i) {
			l.pinned[i], l.direct[i], any = NoSide, true, true
			l.released[i]++
		}
	}
	return any
}

// unclamp lets the parameters that are where their clamp bends go on without it,
// and reports whether there are any: a minimum there is ill-conditioned.
func (l *local) unclamp() bool {
	any := false
	for i, c := range l.p.clamps {
		if l.p.fixed[i] || l.pinned[i] != NoSide || l.direct[i] || l.bound(i, l.at.z, l.at.g) {
			continue
		}
		if c.bounded() && c.slope(c.invert(l.at.z[i])) < 0.5 {
			l.direct[i], any = true, true
		}
	}
	return any
}

// move makes z the current iterate if f(z) ≤ limit and its gradient is finite.
func (l *local) move(z []float64, limit float64) (bool, error) {
	f, err := l.ev.value(z)
	if err != nil || !(f <= limit) {
		return false, err
	}
	g := make([]float64, len(z))
	ok, err := l.ev.gradient(z, g)
	if err != nil || !ok {
		return false, err
	}
	l.step(point{z: z, f: f, g: g})
	l.flat, l.flatFrom = 0, l.ev.counts.Infeasible
	l.notify(l)
	return true, nil
}
