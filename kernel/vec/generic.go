package vec

import "math"

// exp returns eˣ by the method in constants.go.
func exp(x float64) float64 {
	if !(x > expMin && x < expMax) {
		switch {
		case x <= expMin:
			return 0
		case x >= expMax:
			return math.Inf(1)
		}
		return x // NaN
	}
	kd := x*log2E + magic16
	bits := math.Float64bits(kd)
	k := kd - magic16
	r := x - k*ln2Hi - k*ln2Lo
	q := expSmall[2] + r*(expSmall[3]+r*(expSmall[4]+r*expSmall[5]))
	p := r + r*(r*(expSmall[0]+r*(expSmall[1]+r*q)))
	t := expTable[bits%16]
	y := t + t*p               // within [0.97, 2)
	e := int64(bits<<16) >> 20 // bits 4 … 47: ⌊k⌋
	if e > -1022 && e < 1023 {
		return math.Float64frombits(math.Float64bits(y) + uint64(e)<<52)
	}
	return math.Ldexp(y, int(e))
}

func expScaledGo(dst, src []float64, a, b float64) {
	for j, v := range src {
		dst[j] = b * exp(a*v)
	}
}

func rootDecayGo(k, s []float64, c float64, p *[3]float64) {
	for j, v := range s {
		t := math.Sqrt(c * v)
		if t > rootMax {
			t = rootMax
		}
		k[j] = (p[0] + t*(p[1]+t*p[2])) * exp(-t)
	}
}

// rootSlopeGo is rootPoleGo for q[0] = 0.
func rootSlopeGo(k, slope, s []float64, c float64, p, q *[3]float64) {
	rootPoleGo(k, slope, s, c, p, q)
}

func rootPoleGo(k, slope, s []float64, c float64, p, q *[3]float64) {
	for j, v := range s {
		t := math.Sqrt(c * v)
		if t > rootMax {
			t = rootMax
		}
		f := q[1] + t*q[2]
		if t != 0 {
			f += q[0] / t
		}
		e := exp(-t)
		k[j], slope[j] = (p[0]+t*(p[1]+t*p[2]))*e, f*e
	}
}

func squaredDistancesGo(dst, x, w, y []float64, stride int, index []int) {
	clear(dst)
	for q, c := range index {
		xq, col := x[q], y[c*stride:][:len(dst)]
		if w == nil {
			for j, v := range col {
				diff := xq - v
				dst[j] += diff * diff
			}
			continue
		}
		wq := w[q]
		for j, v := range col {
			diff := xq - v
			dst[j] += diff * wq * diff
		}
	}
}

func expDistancesGo(dst, x, w, y []float64, stride int, index []int, a, b float64) {
	squaredDistancesGo(dst, x, w, y, stride, index)
	expScaledGo(dst, dst, a, b)
}

func expDistancesTimesGo(dst, by, x, w, y []float64, stride int, index []int, a float64) float64 {
	expDistancesGo(dst, x, w, y, stride, index, a, 1)
	sum := dotGo(by, dst)
	mulGo(dst, dst, by)
	return sum
}

func weightedSquaresGo(sums, x, w, y []float64, stride int, index []int) {
	for q, c := range index {
		xq, col, sum := x[q], y[c*stride:][:len(w)], 0.0
		for j, v := range col {
			diff := xq - v
			sum += w[j] * diff * diff
		}
		sums[q] = sum
	}
}

// weight returns w[q], or 1 if w is nil.
func weight(w []float64, q int) float64 {
	if w == nil {
		return 1
	}
	return w[q]
}

func mismatchesGo(dst, x, w, y []float64, stride int, index []int) {
	clear(dst)
	for q, c := range index {
		xq, wq, col := x[q], weight(w, q), y[c*stride:][:len(dst)]
		for j, v := range col {
			if xq != v {
				dst[j] += wq
			}
		}
	}
}

func weightedMismatchesGo(sums, x, w, y []float64, stride int, index []int) {
	for q, c := range index {
		xq, col, sum := x[q], y[c*stride:][:len(w)], 0.0
		for j, v := range col {
			if xq != v {
				sum += w[j]
			}
		}
		sums[q] = sum
	}
}

func sumGo(a []float64) float64 {
	sum := 0.0
	for _, v := range a {
		sum += v
	}
	return sum
}

func dotGo(a, b []float64) float64 {
	sum := 0.0
	for j, v := range a {
		sum += v * b[j]
	}
	return sum
}

func tripleDotGo(a, b, c []float64) float64 {
	sum := 0.0
	for j, v := range a {
		sum += v * b[j] * c[j]
	}
	return sum
}

func mulGo(dst, a, b []float64) {
	for j, v := range a {
		dst[j] = v * b[j]
	}
}

func scaleGo(dst, a []float64, c float64) {
	for j, v := range a {
		dst[j] = c * v
	}
}

func combineGo(dst, a, b []float64, p, q float64) {
	for j, v := range a {
		dst[j] = p*v + q*b[j]
	}
}

func turnWavesGo(cos, sin, turnCos, turnSin []float64) {
	for i, tc := range turnCos {
		ts := turnSin[i]
		for k := Waves * i; k < Waves*(i+1); k++ {
			cos[k], sin[k] = cos[k]*tc-sin[k]*ts, sin[k]*tc+cos[k]*ts
		}
	}
}

func waveSumsGo(sums *[5][Waves]float64, cos, sin, y []float64) {
	*sums = [5][Waves]float64{}
	for i, v := range y {
		for k := range Waves {
			c, s := cos[Waves*i+k], sin[Waves*i+k]
			for j, term := range [5]float64{c * v, s * v, c * c, s * s, c * s} {
				sums[j][k] += term
			}
		}
	}
}
