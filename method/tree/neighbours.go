package tree

import (
	"cmp"
	"math"
	"slices"

	"gpfit/kernel"
)

// coordinates holds the numbers that a part of a kernel reads, dim for each point.
type coordinates struct {
	dim  int
	data []float64
}

func (c *coordinates) of(i int) []float64 { return c.data[i*c.dim:][:c.dim] }

// readings returns the coordinates of points for each feature of a kernel: the columns over their lengthscales, or the cosine
// and sine of their phase. A feature with the columns of another one comes once if neither has lengthscales of its own.
func readings(prog *kernel.Program, theta []float64, x *kernel.Points) (out []*coordinates) {
	var seen []kernel.Feature
	for _, f := range prog.Features {
		wave := f.Kind == kernel.SinSquares
		key := kernel.Feature{Dims: f.Dims, Param: f.Param}
		if wave {
			key.Period, key.Periods = f.Period, f.Periods
		}
		if slices.ContainsFunc(seen, func(g kernel.Feature) bool {
			return slices.Equal(g.Dims, key.Dims) && g.Param == key.Param && g.Period == key.Period && g.Periods == key.Periods
		}) {
			continue
		}
		seen = append(seen, key)
		each := 1
		if wave {
			each = 2
		}
		c := &coordinates{dim: each * len(f.Dims)}
		c.data = make([]float64, x.N*c.dim)
		for q, column := range f.Dims {
			scale := 1.0
			if f.Param >= 0 {
				scale = theta[f.Param+q]
			}
			for i, v := range x.Column(column) {
				if !wave {
					c.data[i*c.dim+q] = v / scale
					continue
				}
				u := v / theta[f.Period+min(q, f.Periods-1)]
				sine, cosine := math.Sincos(2 * math.Pi * (u - math.Round(u)))
				c.data[i*c.dim+2*q], c.data[i*c.dim+2*q+1] = cosine/scale, sine/scale
			}
		}
		out = append(out, c)
	}
	for _, q := range prog.Params {
		if q.Sphere && len(q.Dims) == 2 {
			out = append(out, onSphere(x, q.Dims))
		}
	}
	if read := columnsRead(prog); !slices.ContainsFunc(seen, func(f kernel.Feature) bool { return len(f.Dims) == len(read) }) {
		out = append(out, together(x, read))
	}
	return out
}

// onSphere returns the directions of places with latitudes and longitudes in degrees.
func onSphere(x *kernel.Points, columns []int) *coordinates {
	c := &coordinates{dim: 3}
	for i := range x.N {
		sine, cosine := math.Sincos(x.Column(columns[0])[i] * math.Pi / 180)
		east, north := math.Sincos(x.Column(columns[1])[i] * math.Pi / 180)
		c.data = append(c.data, cosine*north, cosine*east, sine)
	}
	return c
}

// together returns the columns of a kernel that reads each of them apart, as a formula may.
func together(x *kernel.Points, read map[int]bool) *coordinates {
	c := &coordinates{dim: len(read)}
	for i := range x.N {
		for column := range x.D {
			if read[column] {
				c.data = append(c.data, x.Column(column)[i])
			}
		}
	}
	return c
}

// bucket is the number of points of a cell, and farthest the number of neighbours of a search.
const (
	bucket   = 12
	farthest = 32
)

// ranks are the neighbours that a check takes of a search, the nearest being 0.
var ranks = [...]int{0, 1, 3, 7, 15, 31}

// cells find near points. They are a k-d tree in the order of an array: the halves of cell k are 2k+1 and 2k+2.
type cells struct {
	*coordinates
	points []int
	bounds [][2]int
	// boxes has the smallest and the largest coordinates of each cell.
	boxes []float64
}

func newCells(c *coordinates, n int) *cells {
	s := &cells{coordinates: c, points: make([]int, n)}
	for i := range s.points {
		s.points[i] = i
	}
	s.split(0, 0, n)
	return s
}

func (s *cells) split(k, first, end int) {
	for len(s.bounds) <= k {
		s.bounds = append(s.bounds, [2]int{})
		s.boxes = append(s.boxes, make([]float64, 2*s.dim)...)
	}
	s.bounds[k] = [2]int{first, end}
	widest, width := 0, -1.0
	for d := range s.dim {
		low, high := math.Inf(1), math.Inf(-1)
		for _, i := range s.points[first:end] {
			v := s.data[i*s.dim+d]
			low, high = min(low, v), max(high, v)
		}
		s.boxes[2*(k*s.dim+d)], s.boxes[2*(k*s.dim+d)+1] = low, high
		if high-low > width {
			widest, width = d, high-low
		}
	}
	if end-first <= bucket {
		return
	}
	slices.SortFunc(s.points[first:end], func(i, j int) int {
		return cmp.Or(cmp.Compare(s.data[i*s.dim+widest], s.data[j*s.dim+widest]), cmp.Compare(i, j))
	})
	mid := (first + end) / 2
	s.split(2*k+1, first, mid)
	s.split(2*k+2, mid, end)
}

// search holds the nearest points of a place so far, in the order of their distances.
type search struct {
	distances [farthest]float64
	points    [farthest]int
	count     int
}

// find finds the nearest points of x.
func (s *cells) find(x []float64, out *search) {
	out.count = 0
	s.visit(0, x, out)
}

// away returns the square of the distance from x to a cell.
func (s *cells) away(k int, x []float64) (sum float64) {
	for d, v := range x {
		e := max(s.boxes[2*(k*s.dim+d)]-v, v-s.boxes[2*(k*s.dim+d)+1], 0)
		sum += e * e
	}
	return sum
}

func (s *cells) visit(k int, x []float64, out *search) {
	first, end := s.bounds[k][0], s.bounds[k][1]
	if end-first > bucket {
		near, far := 2*k+1, 2*k+2
		dn, df := s.away(near, x), s.away(far, x)
		if df < dn {
			near, far, dn, df = far, near, df, dn
		}
		if out.count < farthest || dn < out.distances[farthest-1] {
			s.visit(near, x, out)
		}
		if out.count < farthest || df < out.distances[farthest-1] {
			s.visit(far, x, out)
		}
		return
	}
	for _, i := range s.points[first:end] {
		sum := 0.0
		for d, v := range s.of(i) {
			sum += (v - x[d]) * (v - x[d])
		}
		if out.count == farthest && sum >= out.distances[farthest-1] {
			continue
		}
		at := out.count
		if at == farthest {
			at--
		} else {
			out.count++
		}
		for ; at > 0 && out.distances[at-1] > sum; at-- {
			out.distances[at], out.points[at] = out.distances[at-1], out.points[at-1]
		}
		out.distances[at], out.points[at] = sum, i
	}
}
