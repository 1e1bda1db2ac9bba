package ptx

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gpfit/internal/each"
	"gpfit/kernel"
	"gpfit/kernel/oplist"
)

// These limits keep the size of the text reasonable.
const (
	MaxValues   = 4096
	MaxFeatures = 256
	// MaxColumns limits the number of columns of all features together.
	MaxColumns = 1 << 16
)

// ErrLimit marks a covariance function that is too large.
var ErrLimit = errors.New("kernels: the covariance is too large")

// Kernel is a covariance function, or its derivatives, for a GPU.
type Kernel struct {
	list     *oplist.List
	features []kernel.Feature
	need     []bool
	value    oplist.ID
	// gradient is nil for the function itself.
	gradient *kernel.Gradient
	sweeps   []sweep
	// columns are the columns of X that the kernel reads, in order.
	columns []int
	// slot[v] is the index of a uniform value in the array, size the length of the array.
	slot []int
	size int
}

// For generates the kernels for prog that include the entry e. The error is [ErrLimit].
func For(prog *kernel.Program, e *Entry) (*Kernel, error) {
	if e == Contract || e.Vectors > 0 {
		return NewGradient(prog)
	}
	return New(prog)
}

// New generates the entries Fill, Cross and Multiply for the function. The error is [ErrLimit].
func New(prog *kernel.Program) (*Kernel, error) {
	k := &Kernel{list: prog.List, features: prog.Features, value: prog.Value, need: prog.List.Needed(prog.Value)}
	return k, k.arrange()
}

// NewGradient generates the entries Contract and [Derivatives]. The error is [ErrLimit].
func NewGradient(prog *kernel.Program) (*Kernel, error) {
	g := prog.Gradient()
	k := &Kernel{list: g.List, features: g.Features, value: oplist.None, gradient: g, need: g.Needed()}
	return k, k.arrange()
}

// sweep is a loop over columns, with all features that are sums over them.
type sweep struct {
	dims     []int
	features []int
	// at is the index of the columns' records in the array of uniforms. A record
	// contains the column's position, as an integer, and then weight and frequency of
	// every feature that has one.
	at, words int
	// field is the index of a feature's weight in a record, -1 for none; the frequency
	// of a SinSquares follows it.
	field map[int]int
}

// arrange lays out the array of uniforms: the columns that are read, the records of the
// sweeps, and the uniform values.
func (k *Kernel) arrange() error {
	total := 0
	for f := range k.features {
		if k.used(f) {
			k.place(f)
			total += len(k.features[f].Dims)
		}
	}
	values := 0
	for id, needed := range k.need {
		if needed && !k.list.Values[id].Uniform {
			values++
		}
	}
	for _, l := range []struct {
		what       string
		got, limit int
	}{{"operations", values, MaxValues}, {"features", len(k.features), MaxFeatures}, {"columns over all terms", total, MaxColumns}} {
		if l.got > l.limit {
			return fmt.Errorf("kernels: the covariance has %d %s, but CUDA kernels support at most %d%.0w", l.got, l.what, l.limit, ErrLimit)
		}
	}
	slices.Sort(k.columns)
	k.columns = slices.Compact(k.columns)
	k.size = len(k.columns)
	for s := range k.sweeps {
		k.sweeps[s].at = k.size
		k.size += len(k.sweeps[s].dims) * k.sweeps[s].words
	}
	k.slot = make([]int, len(k.need))
	for id, needed := range k.need {
		k.slot[id] = -1
		if v := &k.list.Values[id]; needed && v.Uniform && v.Op != oplist.Number {
			k.slot[id] = k.size
			k.size++
		}
	}
	return nil
}

// used reports whether a feature is needed.
func (k *Kernel) used(f int) bool {
	for id, needed := range k.need {
		if v := &k.list.Values[id]; needed && v.Op == oplist.Feature && v.Index == f {
			return true
		}
	}
	return k.gradient != nil && slices.ContainsFunc(k.gradient.Columns, func(c kernel.ColumnSums) bool { return c.Feature == f })
}

// place adds a feature to a sweep.
func (k *Kernel) place(f int) {
	feature := &k.features[f]
	k.columns = append(k.columns, feature.Dims...)
	i := slices.IndexFunc(k.sweeps, func(s sweep) bool { return slices.Equal(s.dims, feature.Dims) })
	if i < 0 {
		i = len(k.sweeps)
		k.sweeps = append(k.sweeps, sweep{dims: feature.Dims, words: 1, field: map[int]int{}})
	}
	s := &k.sweeps[i]
	s.features = append(s.features, f)
	s.field[f] = s.words
	s.words += fields(feature)
}

// fields returns the number of a feature's words in a record.
func fields(f *kernel.Feature) int {
	n := 0
	if f.Param >= 0 {
		n++
	}
	if waves(f) {
		n++
	}
	return n
}

func waves(f *kernel.Feature) bool { return f.Kind == kernel.SinSquares || f.Kind == kernel.SinePhases }

// Size returns the number of elements of the array of uniforms.
func (k *Kernel) Size() int { return max(k.size, 1) }

// Uniforms writes the array for parameters theta to out, which has Size elements, and
// returns the uniform values in the numbering of package oplist.
func (k *Kernel) Uniforms(out, theta []float64) []float64 {
	for i, c := range k.columns {
		out[i] = integer(c)
	}
	for i := range k.sweeps {
		s := &k.sweeps[i]
		for q, c := range s.dims {
			record := out[s.at+q*s.words:][:s.words]
			record[0] = integer(c)
			if k.resident() {
				record[0] = integer(stageBytes * k.position(c))
			}
			for _, f := range s.features {
				k.record(record[s.field[f]:], &k.features[f], q, theta)
			}
		}
	}
	values := make([]float64, len(k.need))
	k.list.Uniforms(values, theta, k.need)
	for id, slot := range k.slot {
		if slot >= 0 {
			out[slot] = values[id]
		}
	}
	return values
}

// record writes weight and frequency of column q.
func (k *Kernel) record(out []float64, f *kernel.Feature, q int, theta []float64) {
	if f.Param >= 0 {
		out[0] = 1
		for range f.Power() {
			out[0] /= theta[f.Param+q]
		}
		out = out[1:]
	}
	if waves(f) {
		out[0] = 1 / theta[f.Period+min(q, f.Periods-1)]
	}
}

// integer returns the float64 with the bits of an integer.
func integer(i int) float64 { return math.Float64frombits(uint64(i)) }

// position returns the position of a column among the columns that are read.
func (k *Kernel) position(column int) int {
	i, _ := slices.BinarySearch(k.columns, column)
	return i
}

// place is where a row of a contraction's result belongs.
type place struct{ columns, element int }

// rows lists the meaning of the rows of a contraction's result, in groups of eight:
// first the sums (columns −1), then the sums by columns, for SinSquares of four columns
// the squares and then the phases. Unused rows are 0.
func (k *Kernel) rows() []place {
	var out []place
	pad := func() {
		for len(out)%group != 0 {
			out = append(out, place{-1, -1})
		}
	}
	for i := range k.gradient.Sums {
		out = append(out, place{-1, i})
	}
	pad()
	for c, sums := range k.gradient.Columns {
		f := &k.features[sums.Feature]
		d, width := len(f.Dims), columnsOf(f)
		for base := 0; base < d; base += width {
			for i := range group {
				element := base + i%width + i/width*d
				if base+i%width >= d {
					out = append(out, place{-1, -1})
					continue
				}
				out = append(out, place{c, element})
			}
		}
	}
	return out
}

// group is the number of sums that a block computes at a time.
const group = 8

// columnsOf returns the number of a feature's columns in a group of sums.
func columnsOf(f *kernel.Feature) int {
	if f.Kind == kernel.SinSquares {
		return group / 2
	}
	return group
}

// Rows returns the number of sums of a contraction.
func (k *Kernel) Rows() int { return len(k.rows()) }

// Scratch returns the number of float64 values that each block of a contraction needs.
func (k *Kernel) Scratch() int { return k.Rows() / group * Threads }

// Assemble adds the derivatives by log θ to grad, from the sums of a contraction and
// the values that Uniforms returned.
func (k *Kernel) Assemble(grad, theta, values, result []float64) {
	sums := make([]float64, k.gradient.NumSums())
	for r, p := range k.rows() {
		switch {
		case p.columns >= 0:
			sums[k.gradient.ColumnOffset(p.columns)+p.element] = result[r]
		case p.element >= 0:
			sums[p.element] = result[r]
		}
	}
	k.Assembler(theta, values)(grad, sums)
}

// Assembler returns a function that adds the derivatives by log θ to grad, from the sums of
// [kernel.Gradient]; values are the values that Uniforms returned.
func (k *Kernel) Assembler(theta, values []float64) func(grad, sums []float64) {
	inverse := each.Of(theta, func(v float64) float64 { return 1 / v })
	factors := k.gradient.Factors(nil, inverse, values)
	return func(grad, sums []float64) { k.gradient.Assemble(grad, factors, sums) }
}

// NumSums returns the number of sums of [Derivatives].
func (k *Kernel) NumSums() int { return k.gradient.NumSums() }

// ProductScratch returns the number of float64 values that each block of e, an entry of
// [Derivatives], needs.
func (k *Kernel) ProductScratch(e *Entry) int { return Threads * rowHalves * e.Vectors * k.NumSums() }

// A tile has 64 rows and 32 columns of pairs. In shared memory, the coordinates of a column of X
// take stageBytes: first the coordinates of the rows, then of the columns.
const (
	tileRows   = 64
	tileCols   = 32
	stageBytes = 8 * (tileRows + tileCols)
	// maxResident is the number of columns of X that shared memory holds. With more
	// columns, the kernel reads coordinates from device memory.
	maxResident = 32
	redBytes    = 8 * group * Threads
	// rowHalves is the number of rows of a tile whose products belong to a thread.
	rowHalves = tileRows / 32
)

func (k *Kernel) resident() bool { return len(k.columns) <= maxResident }
