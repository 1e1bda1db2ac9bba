package ptx

import (
	"fmt"
	"math"
	"slices"
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
	return fmt.Sprintf("%%%c%d", kind, w.count[k])
}

// put writes an instruction.
func (w *writer) put(format string, args ...any) { fmt.Fprintf(&w.body, "\t"+format+";\n", args...) }

// do writes an instruction whose result is a new register, and returns the register.
func (w *writer) do(op string, args ...string) string {
	dst := w.reg(kindOf(op))
	w.put("%s %s, %s", op, dst, strings.Join(args, ", "))
	return dst
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

// loop writes body as a loop that runs while register i, which begins with first and
// grows by step, is less than limit. maybe is set if body may not run at all. t is the
// type of i and limit.
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

// each writes an instruction for every pair. Operands are strings, which apply to all
// pairs, or vecs.
func (w *writer) each(op string, args ...any) vec {
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
func (w *writer) into(dst vec, op string, args ...any) {
	for p := range dst {
		w.put("%s %s, %s", op, dst[p], strings.Join(pick(args, p), ", "))
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
func (w *writer) add(a, b any) vec    { return w.each("add.rn.f64", a, b) }
func (w *writer) sub(a, b any) vec    { return w.each("sub.rn.f64", a, b) }
func (w *writer) mul(a, b any) vec    { return w.each("mul.rn.f64", a, b) }
func (w *writer) fma(a, b, c any) vec { return w.each("fma.rn.f64", a, b, c) }
func (w *writer) neg(a any) vec       { return w.each("neg.f64", a) }

// choose returns a if p holds, and b otherwise.
func (w *writer) choose(a, b any, p vec) vec { return w.each("selp.f64", a, b, p) }

// is compares: "lt", "ge", "nan", …. Comparisons with NaN are false, except "neu".
func (w *writer) is(relation string, a, b any) vec {
	return w.each("setp."+relation+".f64", a, b)
}

// polynomial returns Σ c_k x^k, computed from the highest coefficient down.
func (w *writer) polynomial(x vec, coefs ...float64) vec {
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
