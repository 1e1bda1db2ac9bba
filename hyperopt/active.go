package hyperopt

import (
	"math"
	"slices"
)

// bound reports whether parameter i is at a bound that f pushes outwards.
func (l *local) bound(i int, z, g []float64) bool {
	if l.refused[i] {
		return false
	}
	side, _ := l.p.clamps[i].near(z[i])
	return outward(side, g[i])
}

// inward reports whether f pushes parameter i off the bound at which it is
// pinned, or in whose tail the clamp hardly lets it move.
func (l *local) inward(i int) bool {
	if l.p.fixed[i] {
		return false
	}
	side := l.pinned[i]
	if c := l.p.clamps[i]; side == NoSide && c.bounded() && c.slope(c.invert(l.at.z[i])) < stuckSlope {
		side, _ = c.near(l.at.z[i])
	}
	return outward(side, -l.at.g[i])
}

// stuck reports whether the largest gradient component belongs to a parameter
// that f pushes off its bound but the clamp holds back.
func (l *local) stuck() bool {
	if l.held {
		return false
	}
	norm := l.norm(l.at.z, l.at.g)
	for i, g := range l.at.g {
		if math.Abs(g) == norm && l.inward(i) {
			return true
		}
	}
	return false
}

// finish settles what is left once descend has ended: parameters at a bound that
// f pushes outwards are put exactly on it and pinned there, those pushed inwards
// that could not move are released. It reports whether there is reason to
// descend again.
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
				l.pinned[i] = side // already there
			} else {
				idx = append(idx, i)
			}
		}
	}
	if again, err = l.pin(idx); again || err != nil {
		return again, err
	}
	if len(idx) == 1 {
		l.refused[idx[0]] = true
		return true, nil
	}
	for _, i := range idx {
		ok, err := l.pin([]int{i})
		if err != nil {
			return false, err
		}
		l.refused[i] = !ok
	}
	if len(idx) > 0 {
		return true, nil
	}
	return l.release()
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

// release moves the parameters pushed inwards off their bounds, by as much as
// decreases f.
func (l *local) release() (again bool, err error) {
	var idx []int
	for i, g := range l.at.g {
		if math.Abs(g) > math.Max(0, l.s.GradientTolerance) && l.inward(i) {
			idx = append(idx, i)
		}
	}
	if len(idx) == 0 {
		return false, nil
	}
	for shrink := 1.0; shrink > 1e-6; shrink /= 8 {
		z := slices.Clone(l.at.z)
		for _, i := range idx {
			c := l.p.clamps[i]
			d := shrink * insideBound * c.s
			if l.at.g[i] < 0 {
				z[i] = math.Max(z[i], c.lo+d)
			} else {
				z[i] = math.Min(z[i], c.hi-d)
			}
		}
		if slices.Equal(z, l.at.z) {
			break
		}
		ok, err := l.move(z, l.at.f-noise(l.at.f))
		if err != nil {
			return false, err
		}
		if ok {
			for _, i := range idx {
				l.pinned[i] = NoSide
			}
			l.held = false
			return true, nil
		}
	}
	return false, nil
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
