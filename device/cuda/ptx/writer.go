package ptx

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// writer collects instructions. The names of registers show their types: %d for
// float64, %l and %i for 64 and 32 bits, %p for predicates.
type writer struct {
	body   strings.Builder
	count  [4]int
	labels int
}

const kinds = "dlip"

// types are the types of registers, in the order of kinds.
var types = [...]string{".f64", ".b64", ".b32", ".pred"}

func (w *writer) reg(kind byte) string {
	k := strings.IndexByte(kinds, kind)
	w.count[k]++
	return "%" + kinds[k:k+1] + strconv.Itoa(w.count[k])
}

// put writes an instruction.
func (w *writer) put(format string, args ...any) { fmt.Fprintf(&w.body, "\t"+format+";\n", args...) }

// do writes an instruction whose result is a new register, and returns the register.
func (w *writer) do(op string, args ...string) string {
	dst := w.reg(kindOf(op))
	w.set(dst, op, args)
	return dst
}

// set writes an instruction whose result is dst.
func (w *writer) set(dst, op string, args []string) {
	for _, s := range []string{"\t", op, " ", dst, ", ", strings.Join(args, ", "), ";\n"} {
		w.body.WriteString(s)
	}
}

// kindOf returns the kind of an instruction's result.
func kindOf(op string) byte {
	parts := strings.Split(op, ".")
	t := parts[len(parts)-1]
	switch parts[0] {
	case "setp", "and", "or", "not":
		if parts[0] == "setp" || t == "pred" {
			return 'p'
		}
	case "cvt":
		t = parts[len(parts)-2]
	}
	switch {
	case t == "f64":
		return 'd'
	case t == "pred":
		return 'p'
	case strings.HasSuffix(t, "64") || slices.Contains(parts, "wide"):
		return 'l'
	}
	return 'i'
}

// number formats a float64 constant.
func number(x float64) string { return fmt.Sprintf("0d%016X", math.Float64bits(x)) }

// at formats a memory operand.
func at(base string, offset int) string { return fmt.Sprintf("[%s+%d]", base, offset) }

func (w *writer) label() string {
	w.labels++
	return fmt.Sprintf("$L%d", w.labels)
}

func (w *writer) here(label string) { fmt.Fprintf(&w.body, "%s:\n", label) }

func (w *writer) barrier() { w.put("bar.sync 0") }

// loop writes body as a loop that runs while register i, which begins with first and grows by step,
// is less than limit. maybe is set if body may not run at all. t is the type of i and limit.
func (w *writer) loop(t, first, limit, step string, maybe bool, body func(i string)) {
	i := w.do("mov"+strings.Replace(t, ".s", ".b", 1), first)
	begin, end := w.label(), w.label()
	if maybe {
		w.put("@%s bra %s", w.do("setp.ge"+t, i, limit), end)
	}
	w.here(begin)
	body(i)
	w.put("add%s %s, %s, %s", t, i, i, step)
	w.put("@%s bra %s", w.do("setp.lt"+t, i, limit), begin)
	w.here(end)
}

// vec holds a register, or an operand, for every pair of a pass.
type vec []string

// arithmetic writes arithmetic of float64 numbers, for every pair of a pass.
type arithmetic struct{ writer }

// each writes an instruction for every pair. Operands are strings, which apply to all
// pairs, or vecs.
func (w *arithmetic) each(op string, args ...any) vec {
	n := 1
	for _, a := range args {
		if v, ok := a.(vec); ok {
			n = len(v)
		}
	}
	out := make(vec, n)
	for p := range out {
		out[p] = w.do(op, pick(args, p)...)
	}
	return out
}

// into is each with the results in existing registers.
func (w *arithmetic) into(dst vec, op string, args ...any) {
	for p := range dst {
		w.set(dst[p], op, pick(args, p))
	}
}

func pick(args []any, p int) []string {
	var out []string
	for _, a := range args {
		switch a := a.(type) {
		case vec:
			out = append(out, a[p])
		case string:
			out = append(out, a)
		case float64:
			out = append(out, number(a))
		}
	}
	return out
}

// These functions write float64 arithmetic.
func (w *arithmetic) add(a, b any) vec    { return w.each("add.rn.f64", a, b) }
func (w *arithmetic) sub(a, b any) vec    { return w.each("sub.rn.f64", a, b) }
func (w *arithmetic) mul(a, b any) vec    { return w.each("mul.rn.f64", a, b) }
func (w *arithmetic) fma(a, b, c any) vec { return w.each("fma.rn.f64", a, b, c) }
func (w *arithmetic) neg(a any) vec       { return w.each("neg.f64", a) }

// choose returns a if p holds, and b otherwise.
func (w *arithmetic) choose(a, b any, p vec) vec { return w.each("selp.f64", a, b, p) }

// is compares: "lt", "ge", "nan", …. Comparisons with NaN are false, except "neu".
func (w *arithmetic) is(relation string, a, b any) vec {
	return w.each("setp."+relation+".f64", a, b)
}

// polynomial returns Σ c_k x^k, computed from the highest coefficient down.
func (w *arithmetic) polynomial(x vec, coefs ...float64) vec {
	sum := w.fma(x, coefs[0], coefs[1])
	for _, c := range coefs[2:] {
		sum = w.fma(sum, x, c)
	}
	return sum
}

// entry returns the text of an entry with the body.
func (w *writer) entry(e *Entry, shared map[string]int) string {
	var b strings.Builder
	var params []string
	for _, p := range e.Params {
		t := ".u64"
		if p.Kind == Double {
			t = ".f64"
		}
		params = append(params, "\t.param "+t+" "+p.Name)
	}
	fmt.Fprintf(&b, "\n.visible .entry %s(\n%s\n)\n.maxntid %d, 1, 1\n.minnctapersm 2\n{\n", e.Name, strings.Join(params, ",\n"), Threads)
	for k, t := range types {
		fmt.Fprintf(&b, "\t.reg %s %%%c<%d>;\n", t, kinds[k], w.count[k]+1)
	}
	for _, name := range []string{"stage", "red"} {
		if shared[name] > 0 {
			fmt.Fprintf(&b, "\t.shared .align 16 .b8 %s[%d];\n", name, shared[name])
		}
	}
	return b.String() + w.body.String() + "\tret;\n}\n"
}

var (
	slow  = regexp.MustCompile(`^\t(@\S+ )?(div|rcp|sqrt)\.rn\.f64`)
	quick = regexp.MustCompile(`^\t(@\S+ )?(add|sub|mul|fma|neg|abs|min|max|setp|selp|cvt)\S*\.f64`)
)

// often is a comment in the text: the number of times that the following code runs, if
// it is a loop over columns.
const often = "// times %d"

func (w *writer) times(n int) { fmt.Fprintf(&w.body, often+"\n", n) }

// CountFloat64 counts the float64 arithmetic in a text. A division or a root counts as
// 12 operations. Only loops over columns count as often as they run.
func CountFloat64(text []byte) int {
	count, times := 0, 1
	for line := range bytes.Lines(text) {
		_, _ = fmt.Sscanf(string(line), often, &times) // other lines leave times as it is
		switch {
		case slow.Match(line):
			count += 12 * times
		case quick.Match(line):
			count += times
		}
	}
	return count
}

// Threads is the number of threads in a block of every kernel.
const Threads = 256

// ParamKind is the type of a kernel parameter; all have 8 bytes.
type ParamKind uint8

// The kinds of parameters.
const (
	Pointer ParamKind = iota + 1
	Int
	Double
)

// EntryParam is a parameter of a kernel.
type EntryParam struct {
	Name string
	Kind ParamKind
}

// Entry is a kernel and its parameters.
type Entry struct {
	Name   string
	Params []EntryParam
	// Vectors is the number of columns of v of an entry of [Derivatives].
	Vectors int
}

// Each entry is a separate module, for points x stored by column; [Kernel.Uniforms]
// fills the uniforms.
var (
	// Fill writes Σ = K + diag(noise) to a, for columns j0 ≤ j < j1 and rows i ≥ j: a[i
	// + j·lda]. noise has one element for all points, or n. The launch has a block for
	// every tile of rows from j0 on.
	Fill = NewEntry("gpfit_fill", "*uniforms *x n *a lda j0 j1 *noise noises")
	// Cross writes k(x_i, x*_r) to out[i + (r−r0)·ldo], for 0 ≤ i < n and test points
	// r0 ≤ r < r1 out of the m in xs. The launch has a block for every tile.
	Cross = NewEntry("gpfit_cross", "*uniforms *x n *xs m r0 r1 *out ldo")
	// Multiply writes rows i0 ≤ i < i1 of Σ·v to y[i−i0 + q·ldy], for the n×m matrix v. It
	// generates both triangles of Σ again from the points, so that a check of a factorization
	// shares nothing with the factorization. A block for 64 rows processes all columns in order.
	Multiply = NewEntry("gpfit_multiply", "*uniforms *x n *noise noises i0 i1 *v ldv m *y ldy")
	// Contract reads columns j0 ≤ j < j1 of Σ⁻¹, rows i0 ≤ i < i1 with i ≤ j, from s[i + (j−j0)·lds], and of M
	// in the same way from middle, which may be null; it does not read below the diagonal. vectors
	// holds count columns of n numbers, outer as many factors. With G = inv·Σ⁻¹ + M + Σ_k
	// outer_k·v_k v_kᵀ, and elements off the diagonal counted twice, block b of B writes its share
	// of Σ_pairs G·value to partial[r·B + b] for every row r of sums, and G_jj to diag[j]. scratch
	// has 256 numbers for every block and eight rows.
	Contract = NewEntry("gpfit_contract", "*uniforms *x n *s lds *middle ldm i0 i1 j0 j1 *vectors *outer count .inv *diag *scratch *partial")
	// derivative and derivatives multiply one vector and four.
	derivative  = entryOfVectors("gpfit_derivative", 1)
	derivatives = entryOfVectors("gpfit_derivatives", 4)
)

func entryOfVectors(name string, vectors int) *Entry {
	e := NewEntry(name, "*uniforms *x n i0 i1 *v ldv *scratch *y ldy")
	e.Vectors = vectors
	return e
}

// Derivatives returns the entry for m ≥ 1 vectors, or for as many of them as it can multiply at once.
// It multiplies rows i0 ≤ i < i1 of the sums of [kernel.Gradient] by the n×Vectors matrix v: Σ_j s(x_i,
// x_j)·v_jk for the k-th vector and the term s of the q-th sum is y[i−i0 + (q·Vectors+k)·ldy]. A block
// has 64 rows; [Kernel.ProductScratch] is its part of scratch.
func Derivatives(m int) *Entry {
	if m == 1 {
		return derivative
	}
	return derivatives
}

// Entries lists all entries.
func Entries() []*Entry { return []*Entry{Fill, Cross, Multiply, Contract, derivative, derivatives} }

// NewEntry returns an entry with a list of parameters: a star marks a pointer, a point a
// float64; the others are integers.
func NewEntry(name, params string) *Entry {
	e := &Entry{Name: name}
	for _, p := range strings.Fields(params) {
		kind := Int
		switch p[0] {
		case '*':
			kind = Pointer
		case '.':
			kind = Double
		}
		e.Params = append(e.Params, EntryParam{strings.TrimLeft(p, "*."), kind})
	}
	return e
}

// Target returns the architecture for a device of the given compute capability. It
// returns an error for devices before 8.0.
func Target(major, minor int) (string, error) {
	switch {
	case major >= 9:
		return "sm_90", nil
	case major == 8:
		return "sm_80", nil
	}
	return "", fmt.Errorf("kernels: compute capability %d.%d is below 8.0", major, minor)
}

// header returns the beginning of a module. PTX 7.8 is the oldest version that knows
// sm_90, and any driver from 520 on loads it.
func header(target string) string {
	return fmt.Sprintf(".version 7.8\n.target %s\n.address_size 64\n", target)
}
