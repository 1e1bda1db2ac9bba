package kernels

import "gpfit/internal/cuda/ptx"

// Kernel is a kernel and its parameters, each of 8 bytes.
type (
	Kernel    = ptx.Entry
	Param     = ptx.EntryParam
	ParamKind = ptx.ParamKind
)

// The kinds of parameters.
const (
	Pointer = ptx.Pointer
	Int     = ptx.Int
	Double  = ptx.Double
)

// Threads is the number of threads in a block of every kernel.
const Threads = ptx.Threads

// Table lists every kernel of the module that [Module] returns.
func Table() []Kernel {
	out := make([]Kernel, len(table))
	copy(out, table)
	return out
}

var table = []Kernel{
	entry("gpfit_reduce", p("parts"), i("count"), p("out"), i("add")),
	entry("gpfit_logdiag", p("a"), i("lda"), i("n"), p("parts")),
	entry("gpfit_firstbad", p("x"), i("count"), i("stride"), i("positive"), p("first")),
	entry("gpfit_colsumsq", p("a"), i("lda"), i("n"), p("out")),
	entry("gpfit_getdiag", p("a"), i("lda"), i("n"), p("out"), i("invert")),
	entry("gpfit_setdiag", p("a"), i("lda"), i("n"), p("d"), i("invert")),
	entry("gpfit_copy", p("a"), i("lda"), i("sa"), p("b"), i("ldb"), i("sb"), i("rows"), i("cols"), i("upper")),
	entry("gpfit_invert", p("a"), i("lda"), i("n"), i("order"), p("b"), i("ldb")),
	entry("gpfit_symcols", p("a"), i("lda"), i("n"), i("j0"), i("j1"), p("c"), p("b"), i("ldb")),
	entry("gpfit_readrows", p("a"), i("lda"), i("n"), i("r0"), i("r1"), p("b"), i("ldb")),
	entry("gpfit_writerows", p("a"), i("lda"), i("n"), i("r0"), i("r1"), p("b"), i("ldb")),
}

func entry(name string, params ...Param) Kernel { return Kernel{Name: name, Params: params} }
func p(name string) Param                       { return Param{Name: name, Kind: Pointer} }
func i(name string) Param                       { return Param{Name: name, Kind: Int} }

func find(name string) *Kernel {
	for k := range table {
		if table[k].Name == name {
			return &table[k]
		}
	}
	return nil
}
