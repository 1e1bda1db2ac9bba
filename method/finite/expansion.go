package finite

import (
	"errors"
	"math"
	"slices"

	"gpfit/device"
	"gpfit/kernel"
	"gpfit/method/internal/hostmethod"
)

// expansion is a kernel at its parameters as features.
type expansion struct {
	prog  *kernel.Program
	theta []float64
	*kernel.FiniteFeatures
	// roots are V^½.
	roots []float64
	// moving lists the elements of θ on which functions depend.
	moving []int
}

// newExpansion returns the features of a kernel on points, or an [*device.UnsupportedKernelError].
func newExpansion(prog *kernel.Program, theta []float64, x *kernel.Points) (*expansion, error) {
	f, err := prog.DifferentiableFeatures(theta, x)
	if err = refused(prog, f, err); err != nil {
		return nil, err
	}
	e := &expansion{prog: prog, theta: slices.Clone(theta), FiniteFeatures: f}
	for _, v := range f.Variances {
		e.roots = append(e.roots, math.Sqrt(v))
	}
	for i := range f.Atoms {
		e.moving = append(e.moving, f.Atoms[i].Params...)
	}
	slices.Sort(e.moving)
	e.moving = slices.Compact(e.moving)
	return e, nil
}

// errInfinite is the error of a kernel without a finite number of features.
var errInfinite = errors.New("it has no finite number of features; linear, poly, cosine, constant, hamming, formulas that are φ(x)·φ(y), and sums and products of these have")

// refused returns the error for a kernel without features.
func refused(prog *kernel.Program, f *kernel.FiniteFeatures, err error) error {
	if err == nil && f == nil {
		err = errInfinite
	}
	if err == nil {
		return nil
	}
	return &device.UnsupportedKernelError{Device: hostmethod.Name, Method: Name, Kernel: prog.Text, Err: err}
}

// sampled is the number of points on which [featuresOf] tests formulas.
const sampled = 100

// sample returns some rows, and rows with all values of categories, or with more than a kernel may have.
func sample(prog *kernel.Program, x *kernel.Points) []int {
	const most = 1 << 12
	rows := make([]int, sampled)
	for k := range rows {
		rows[k] = k * (x.N - 1) / (sampled - 1)
	}
	for i := range prog.Features {
		if f := &prog.Features[i]; f.Kind == kernel.Mismatches {
			for _, c := range f.Dims {
				rows = append(rows, x.Firsts(c, most)...)
			}
		}
	}
	return rows
}

// featuresOf returns the number of features of a workload's kernel at parameters of 1.
func featuresOf(w device.Workload) (int, error) {
	x := w.Points
	if x == nil || x.N == 0 {
		x = &kernel.Points{N: 5, D: w.Program.D, X: make([]float64, 5*w.Program.D)}
		for i := range x.X {
			x.X[i] = math.Sin(float64(i)) // any points
		}
	}
	if x.N > sampled {
		x = x.Pick(sample(w.Program, x))
	}
	f, err := w.Program.DifferentiableFeatures(slices.Repeat([]float64{1}, w.Program.NumParams), x)
	if err = refused(w.Program, f, err); err != nil {
		return 0, err
	}
	return len(f.Variances), nil
}

// isAt reports whether e belongs to a kernel and parameters.
func (e *expansion) isAt(prog *kernel.Program, theta []float64) bool {
	return e != nil && e.prog.Same(prog) && slices.Equal(e.theta, theta)
}

// rank returns the number of features.
func (e *expansion) rank() int { return len(e.Variances) }

// keepsFunctions reports whether e has the functions of other, which do not depend on θ.
func (e *expansion) keepsFunctions(other *expansion) bool {
	return other != nil && e.prog.Same(other.prog) && len(e.moving) == 0 && slices.EqualFunc(e.Factors, other.Factors, slices.Equal)
}

// scale multiplies columns of r numbers by V^½ to a power.
func (e *expansion) scale(t []float64, power int) {
	r := e.rank()
	for i := range t {
		for range power {
			t[i] *= e.roots[i%r]
		}
	}
}

// atomTable has the values of all atoms of an expansion at some points, a column for each.
type atomTable struct {
	*expansion
	x      *kernel.Points
	first  int
	m      int
	values [][]float64
	// slopes[a][k] are the derivatives of atom a by the k-th of its parameters.
	slopes [][][]float64
}

func newAtomTable(e *expansion, x *kernel.Points) *atomTable {
	return &atomTable{expansion: e, x: x, values: make([][]float64, len(e.Atoms)), slopes: make([][][]float64, len(e.Atoms))}
}

// read computes the values for the points from first to last.
func (t *atomTable) read(first, last int) {
	t.first, t.m = first, last-first
	for a := range t.values {
		t.values[a] = slices.Grow(t.values[a][:0], t.m)[:t.m]
		for i := range t.m {
			t.values[a][i] = t.Atoms[a].Value(t.x, first+i)
		}
	}
}

// features writes the values of the features, one feature after the other.
func (t *atomTable) features(dst []float64) {
	for j, factors := range t.Factors {
		row := dst[j*t.m : (j+1)*t.m]
		if len(factors) == 0 {
			for i := range row {
				row[i] = 1
			}
			continue
		}
		copy(row, t.values[factors[0]])
		for _, a := range factors[1:] {
			for i, v := range t.values[a] {
				row[i] *= v
			}
		}
	}
}

// differentiate computes the derivatives of the atoms.
func (t *atomTable) differentiate() {
	for a := range t.slopes {
		atom := &t.Atoms[a]
		own := make([]float64, len(atom.Params))
		if len(own) == 0 {
			continue
		}
		t.slopes[a] = make([][]float64, len(own))
		for k := range own {
			t.slopes[a][k] = make([]float64, t.m)
		}
		for i := range t.m {
			atom.Slopes(own, t.x, t.first+i)
			for k, v := range own {
				t.slopes[a][k][i] = v
			}
		}
	}
}

// derivatives writes the derivatives of the features by a parameter, one feature after the other.
func (t *atomTable) derivatives(dst []float64, param int) {
	clear(dst[:t.m*t.rank()])
	for j, factors := range t.Factors {
		for k, a := range factors {
			at := slices.Index(t.Atoms[a].Params, param)
			if at < 0 {
				continue
			}
			for i, v := range t.slopes[a][at] {
				for l, b := range factors {
					if l != k {
						v *= t.values[b][i]
					}
				}
				dst[j*t.m+i] += v
			}
		}
	}
}
