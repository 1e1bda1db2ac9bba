package grid

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/kernel/vec"
)

// panelWidth is the number of columns that are reduced before the rest of the matrix is.
const panelWidth = 32

// tridiagonal returns K = Q·T·Qᵀ for a symmetric matrix, with Qᵀ, the diagonal d of T, and e beside it with a 0 at the
// end. It reduces panels of columns by Householder's reflections H = I − τvvᵀ and the rest by products, as Dongarra,
// Hammarling & Sorensen, Journal of Computational and Applied Mathematics 27 (1989), 215. gonum's Dsytrd takes
// several times as long.
func tridiagonal(k blas64.General, threads int) (qt blas64.General, d, e []float64) {
	g := k.Rows
	r := &reduction{a: square(g), v: square(g), w: rectangle(panelWidth, g), tau: make([]float64, g), threads: threads}
	copy(r.a.Data, k.Data)
	d, e = make([]float64, g), make([]float64, g)
	for first := 0; first < g; first += panelWidth {
		end := min(first+panelWidth, g)
		for j := first; j < end; j++ {
			d[j], e[j] = r.column(first, j)
		}
		r.rest(first, end)
	}
	return r.vectors(), d, e
}

// reduction is the state of tridiagonal.
type reduction struct {
	// a is the rest of the matrix; only its lower half is in use.
	a blas64.General
	// Row j of v is the vector of reflection j, which begins with zeros up to j, and row j − first of w belongs to the
	// reflections of a panel: the rest of the matrix is A − Σ (v·wᵀ + w·vᵀ).
	v, w    blas64.General
	tau     []float64
	threads int
}

// column reduces column j of the panel that begins at first. It returns the elements of T on and below the diagonal.
func (r *reduction) column(first, j int) (diagonal, below float64) {
	g := r.a.Rows
	v := row(r.v, j)[j:]
	for i := range v {
		v[i] = r.a.Data[(j+i)*r.a.Stride+j]
	}
	for p := first; p < j; p++ {
		vp, wp := row(r.v, p)[j:], row(r.w, p-first)[j:]
		vec.Combine(v, v, vp, 1, -wp[0])
		vec.Combine(v, v, wp, 1, -vp[0])
	}
	diagonal, v[0] = v[0], 0
	if j == g-1 {
		return diagonal, 0
	}
	v = v[1:]
	below, r.tau[j] = reflect(v)
	if r.tau[j] != 0 {
		r.image(first, j, v, row(r.w, j-first)[j+1:])
	} else {
		clear(row(r.w, j-first))
	}
	return diagonal, below
}

// reflect replaces x by the vector v with v₀ = 1 of the reflection I − τvvᵀ that maps x to (value, 0, …).
func reflect(x []float64) (value, tau float64) {
	rest := blas64.Nrm2(vector(x[1:]))
	if rest == 0 {
		value, x[0] = x[0], 1
		return value, 0
	}
	value = -math.Copysign(math.Hypot(x[0], rest), x[0])
	tau = (value - x[0]) / value
	vec.Scale(x[1:], x[1:], 1/(x[0]-value))
	x[0] = 1
	return value, tau
}

// image writes w = τBv − ½τ²(vᵀBv)v for the vector v of reflection j, where B is the rest of the matrix after the
// reflections before.
func (r *reduction) image(first, j int, v, w []float64) {
	r.multiply(j+1, v, w)
	for p := first; p < j; p++ {
		vp, wp := row(r.v, p)[j+1:], row(r.w, p-first)[j+1:]
		fromV, fromW := vec.Dot(wp, v), vec.Dot(vp, v)
		vec.Combine(w, w, vp, 1, -fromV)
		vec.Combine(w, w, wp, 1, -fromW)
	}
	tau := r.tau[j]
	vec.Scale(w, w, tau)
	vec.Combine(w, w, v, 1, -0.5*tau*vec.Dot(w, v))
}

// symmetricParts are the parts of a product with a symmetric matrix that are summed in order, so that its bits do not
// depend on threads.
const symmetricParts = 8

// multiply writes y = Ax for the rows and columns of a from first on. Each row of its lower half is read once.
func (r *reduction) multiply(first int, x, y []float64) {
	n := len(x)
	parts := symmetricParts
	if 2*float64(n)*float64(n) < 4*shareFlops {
		parts = 1
	}
	sums := make([]float64, parts*n)
	shares(parts, 2*float64(n)*float64(n)/float64(parts), r.threads, func(p0, p1 int) {
		for p := p0; p < p1; p++ {
			own := sums[p*n : (p+1)*n]
			// The parts have the same number of elements.
			i1 := int(float64(n) * math.Sqrt(float64(p+1)/float64(parts)))
			for i := int(float64(n) * math.Sqrt(float64(p)/float64(parts))); i < i1; i++ {
				a := r.a.Data[(first+i)*r.a.Stride+first:][:i+1]
				own[i] += vec.Dot(a, x)
				vec.Combine(own[:i], own[:i], a[:i], 1, x[i])
			}
		}
	})
	copy(y, sums)
	for p := 1; p < parts; p++ {
		vec.Combine(y, y, sums[p*n:(p+1)*n], 1, 1)
	}
}

// rest subtracts Σ (v·wᵀ + w·vᵀ) of the reflections first … end−1 from the matrix after them.
func (r *reduction) rest(first, end int) {
	n, m := r.a.Rows-end, end-first
	if n == 0 {
		return
	}
	x, y := rectangle(n, 2*m), rectangle(n, 2*m)
	for p := range m {
		v, w := row(r.v, first+p)[end:], row(r.w, p)[end:]
		for i := range n {
			x.Data[i*2*m+p], x.Data[i*2*m+m+p] = v[i], w[i]
			y.Data[i*2*m+p], y.Data[i*2*m+m+p] = w[i], v[i]
		}
	}
	const strip = 96
	for i := 0; i < n; i += strip {
		i1 := min(i+strip, n)
		c := rows(nil, i1)
		c.Rows, c.Stride, c.Data = i1-i, r.a.Stride, r.a.Data[(end+i)*r.a.Stride+end:]
		addProducts(c, -1, rows(x.Data[i*2*m:i1*2*m], 2*m), rows(y.Data[:i1*2*m], 2*m), r.threads)
	}
}

// vectors returns Qᵀ for the product Q of all reflections. The product over a panel is I − V·T·Vᵀ (Schreiber &
// Van Loan, SIAM Journal on Scientific and Statistical Computing 10 (1989), 53), by which Qᵀ is multiplied from
// the right from the last panel on.
func (r *reduction) vectors() blas64.General {
	g := r.a.Rows
	qt := square(g)
	for i := range g {
		qt.Data[i*g+i] = 1
	}
	for first := (g - 1) / panelWidth * panelWidth; first >= 0; first -= panelWidth {
		m := min(panelWidth, g-first)
		n := g - first // the rows and columns that the reflections change
		own := blas64.General{Rows: m, Cols: n, Stride: g, Data: r.v.Data[first*g+first:]}
		to := blas64.General{Rows: n, Cols: n, Stride: g, Data: qt.Data[first*g+first:]}
		z := rectangle(n, m)
		addProducts(z, 1, to, own, r.threads)
		zt := rectangle(n, m)
		addProducts(zt, 1, z, r.triangle(first, own), r.threads)
		addProducts(to, -1, zt, transposed(own), r.threads)
	}
	return qt
}

// triangle returns T of the reflections of a panel, whose vectors are the rows of v.
func (r *reduction) triangle(first int, v blas64.General) blas64.General {
	t := square(v.Rows)
	for i := range v.Rows {
		tau := r.tau[first+i]
		t.Data[i*t.Stride+i] = tau
		for p := range i {
			t.Data[p*t.Stride+i] = -tau * vec.Dot(row(v, p), row(v, i))
		}
		for p := range i { // the upper triangle before times the new column
			sum := 0.0
			for q := p; q < i; q++ {
				sum += t.Data[p*t.Stride+q] * t.Data[q*t.Stride+i]
			}
			t.Data[p*t.Stride+i] = sum
		}
	}
	return t
}
