package blas

// A view is a matrix inside a slice: element (i, j) is p[i·rs + j·cs], and one
// of the strides is 1.
type view struct {
	p      []float64
	rs, cs int
	shape  shape
	unit   bool // triangular with a diagonal of ones that is not stored
}

// A shape is the set of elements of a view that are stored.
type shape uint8

const (
	dense    shape = iota
	lower          // (i, j) is zero for j > i
	upper          // (i, j) is zero for j < i
	symLower       // (i, j) for j > i is at (j, i)
	symUpper       // (i, j) for j < i is at (j, i)
)

func rowMajor(p []float64, ld int) view { return view{p: p, rs: ld, cs: 1} }

// t returns the transpose.
func (v view) t() view {
	v.rs, v.cs = v.cs, v.rs
	switch v.shape {
	case lower:
		v.shape = upper
	case upper:
		v.shape = lower
	case symLower:
		v.shape = symUpper
	case symUpper:
		v.shape = symLower
	}
	return v
}

// op returns the view of a row-major matrix, transposed if trans is set.
func op(p []float64, ld int, trans bool) view {
	v := rowMajor(p, ld)
	if trans {
		v = v.t()
	}
	return v
}

// set stores an element of a dense view.
func (v *view) set(i, j int, x float64) { v.p[i*v.rs+j*v.cs] = x }

// packPanel packs rows [i0, i0+rows) and columns [p0, p0+n) of v into a panel of w
// lines, w ≥ rows: dst[p·w + r] is element (i0+r, p0+p). Lines beyond v are zero.
// Columns of a triangular view that are zero in all of the panel's rows may be left
// unchanged, because no product reads them.
func (ks *kernels) packPanel(dst []float64, w int, v *view, i0, rows, p0, n int) {
	if v.shape == dense {
		ks.packDense(dst, w, v, i0, rows, p0, n)
		return
	}
	// In all rows, columns below d0 are to the left of the diagonal and columns
	// from d1 on to the right.
	d0 := min(max(i0-p0, 0), n)
	d1 := min(max(i0+rows-p0, 0), n)
	if v.shape != upper && d0 > 0 {
		left := *v
		if v.shape == symUpper {
			left = v.t()
		}
		ks.packDense(dst, w, &left, i0, rows, p0, d0)
	}
	if d0 < d1 {
		packDiagonal(dst[d0*w:d1*w], w, v, i0, rows, p0+d0-i0, p0+d1-i0)
	}
	if v.shape != lower && d1 < n {
		right := *v
		if v.shape == symLower {
			right = v.t()
		}
		ks.packDense(dst[d1*w:], w, &right, i0, rows, p0+d1, n-d1)
	}
}

// packDiagonal is packPanel for columns [c0, c1), counted from i0, of the rows from
// i0: the elements on and near the diagonal.
func packDiagonal(dst []float64, w int, v *view, i0, rows, c0, c1 int) {
	clear(dst)
	src := v.p[i0*v.rs+i0*v.cs:]
	skip := 0 // the diagonal
	if v.unit {
		skip = 1
	}
	for r := range rows {
		lo, hi := c0, min(c1, r+1-skip) // the lower triangle
		if v.shape == upper || v.shape == symUpper {
			lo, hi = max(c0, r+skip), c1
		}
		for c := lo; c < hi; c++ {
			dst[(c-c0)*w+r] = src[r*v.rs+c*v.cs]
		}
		switch {
		case v.unit && c0 <= r && r < c1:
			dst[(r-c0)*w+r] = 1
		case v.shape == symLower:
			lo, hi = max(c0, r+1), c1
		case v.shape == symUpper:
			lo, hi = c0, min(c1, r)
		default:
			continue
		}
		if v.shape == symLower || v.shape == symUpper {
			for c := lo; c < hi; c++ {
				dst[(c-c0)*w+r] = src[c*v.rs+r*v.cs]
			}
		}
	}
}

// packDense is packPanel for views that store every element.
func (ks *kernels) packDense(dst []float64, w int, v *view, i0, rows, p0, n int) {
	src := v.p[i0*v.rs+p0*v.cs:]
	if v.rs == 1 {
		if rows == w {
			ks.copyRows(n, w/ks.lanes, &src[0], v.cs, &dst[0], w)
			return
		}
		for p := 0; p < n; p++ {
			line := dst[p*w : (p+1)*w]
			copy(line[:rows], src[p*v.cs:])
			clear(line[rows:])
		}
		return
	}
	l := ks.lanes
	tiles := n / l
	g := 0
	if tiles > 0 {
		for ; g+l <= rows; g += l {
			ks.transposeTiles(tiles, &src[g*v.rs], v.rs, l, &dst[g], w, w*l)
		}
	}
	// The columns after the last tile, then the lines after the last group.
	for p := tiles * l; p < n; p++ {
		for r := 0; r < g; r++ {
			dst[p*w+r] = src[r*v.rs+p]
		}
	}
	for r := g; r < w; r++ {
		if r >= rows {
			for p := 0; p < n; p++ {
				dst[p*w+r] = 0
			}
			continue
		}
		for p, x := range src[r*v.rs : r*v.rs+n] {
			dst[p*w+r] = x
		}
	}
}

// unpackPanel is the inverse of packDense: it writes rows lines of n columns of a
// panel of width w to v.
func (ks *kernels) unpackPanel(src []float64, w int, v *view, i0, rows, p0, n int) {
	dst := v.p[i0*v.rs+p0*v.cs:]
	if v.rs == 1 {
		if rows == w {
			ks.copyRows(n, w/ks.lanes, &src[0], w, &dst[0], v.cs)
			return
		}
		for p := 0; p < n; p++ {
			copy(dst[p*v.cs:p*v.cs+rows], src[p*w:])
		}
		return
	}
	l := ks.lanes
	tiles := n / l
	g := 0
	if tiles > 0 {
		for ; g+l <= rows; g += l {
			ks.transposeTiles(tiles, &src[g], w, w*l, &dst[g*v.rs], v.rs, l)
		}
	}
	for r := 0; r < rows; r++ {
		p := 0
		if r < g {
			p = tiles * l
		}
		for ; p < n; p++ {
			dst[r*v.rs+p] = src[p*w+r]
		}
	}
}

// vectors returns the number of vectors that n ≤ nr columns need.
func (ks *kernels) vectors(n int) int { return (n + ks.lanes - 1) / ks.lanes }
