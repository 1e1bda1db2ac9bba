package kernels

// ParamKind is the type of a kernel parameter; all have 8 bytes.
type ParamKind uint8

// The kinds.
const (
	Pointer ParamKind = iota + 1
	Int
	Double
)

// Param is a parameter of a kernel.
type Param struct {
	Name string
	Kind ParamKind
}

// Kernel is an entry of the module.
type Kernel struct {
	Name   string
	Params []Param
}

// Threads is the number of threads in a block of every kernel.
const Threads = 256

// Table lists every kernel of the module.
func Table() []Kernel {
	out := make([]Kernel, len(table))
	copy(out, table)
	return out
}

var contractParams = []Param{p("prog"), p("theta"), p("x"), i("n"), p("s"), i("lds"), p("middle"), i("ldm"), i("j0"), i("j1"),
	p("vectors"), p("outer"), i("count"), f("inv"), p("diag"), p("scratch"), p("partial")}

var table = []Kernel{
	entry("gpfit_fill", p("prog"), p("theta"), p("x"), i("n"), p("a"), i("lda"), i("j0"), i("j1"), p("noise"), i("noises")),
	entry("gpfit_cross", p("prog"), p("theta"), p("x"), i("n"), p("xs"), i("m"), i("r0"), i("r1"), p("out"), i("ldo")),
	entry("gpfit_multiply", p("prog"), p("theta"), p("x"), i("n"), p("noise"), i("noises"), i("i0"), i("i1"),
		p("v"), i("ldv"), i("m"), p("y"), i("ldy")),
	entry("gpfit_contract", contractParams...),
	entry("gpfit_contractone", contractParams...),
	entry("gpfit_reduce", p("parts"), i("count"), p("out"), i("add")),
	entry("gpfit_logdiag", p("a"), i("lda"), i("n"), p("parts")),
	entry("gpfit_firstbad", p("x"), i("count"), i("stride"), i("positive"), p("first")),
	entry("gpfit_colsumsq", p("a"), i("lda"), i("n"), p("out")),
	entry("gpfit_getdiag", p("a"), i("lda"), i("n"), p("out"), i("invert")),
	entry("gpfit_setdiag", p("a"), i("lda"), i("n"), p("d"), i("invert")),
	entry("gpfit_set", p("a"), i("lda"), i("rows"), i("cols"), f("value")),
	entry("gpfit_copy", p("a"), i("lda"), p("b"), i("ldb"), i("rows"), i("cols"), i("part")),
	entry("gpfit_mirror", p("a"), i("lda"), i("n")),
	entry("gpfit_symcols", p("a"), i("lda"), i("n"), i("j0"), i("j1"), p("c"), p("b"), i("ldb")),
	entry("gpfit_readrows", p("a"), i("lda"), i("n"), i("r0"), i("r1"), p("b"), i("ldb")),
	entry("gpfit_writerows", p("a"), i("lda"), i("n"), i("r0"), i("r1"), p("b"), i("ldb")),
}

func entry(name string, params ...Param) Kernel { return Kernel{name, params} }
func p(name string) Param                       { return Param{name, Pointer} }
func i(name string) Param                       { return Param{name, Int} }
func f(name string) Param                       { return Param{name, Double} }

func find(name string) *Kernel {
	for k := range table {
		if table[k].Name == name {
			return &table[k]
		}
	}
	return nil
}
