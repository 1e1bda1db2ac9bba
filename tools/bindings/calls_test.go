package bindings

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/ast/astutil"
)

// site is a call of a bound function.
type site struct {
	position string
	args     []ast.Expr
}

// sites finds the calls of each bound function, by the methods call and run, which take it
// as their first argument. A parameter there stands for everything that callers of the
// enclosing function pass.
func (s *source) sites() (map[string][]site, error) {
	found := map[string][]site{}
	for _, f := range s.Syntax {
		for n := range ast.Preorder(f) {
			call, ok := n.(*ast.CallExpr)
			if !ok || call.Ellipsis.IsValid() { // run passes its own arguments on
				continue
			}
			obj := s.callee(call)
			if obj == nil || obj.Pkg() != s.Types || (obj.Name() != "call" && obj.Name() != "run") {
				continue
			}
			if sig, ok := obj.Type().(*types.Signature); !ok || sig.Recv() == nil || !sig.Variadic() {
				continue
			}
			names, err := s.names(f, call, call.Args[0])
			if err != nil {
				return nil, err
			}
			for _, name := range names {
				found[name] = append(found[name], site{s.position(call), call.Args[1:]})
			}
		}
	}
	return found, nil
}

func (s *source) callee(call *ast.CallExpr) types.Object {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return s.TypesInfo.Uses[f]
	case *ast.SelectorExpr:
		return s.TypesInfo.Uses[f.Sel]
	}
	return nil
}

// names returns the functions for which an index in a call can stand.
func (s *source) names(f *ast.File, call ast.Node, index ast.Expr) ([]string, error) {
	id, ok := index.(*ast.Ident)
	if !ok {
		return nil, fmt.Errorf("%s: the index of the function is not a name", s.position(call))
	}
	if name := s.symbols[id.Name]; name != "" && s.TypesInfo.Uses[id].Parent() == s.Types.Scope() {
		return []string{name}, nil
	}
	function, at := s.parameter(f, call, s.TypesInfo.Uses[id])
	var names []string
	for _, f := range s.Syntax {
		for n := range ast.Preorder(f) {
			if c, ok := n.(*ast.CallExpr); ok && function != nil && s.callee(c) == function {
				if id, ok := c.Args[at].(*ast.Ident); ok {
					names = append(names, s.symbols[id.Name])
				}
			}
		}
	}
	if len(names) == 0 || slices.Contains(names, "") {
		return nil, fmt.Errorf("%s: %s stands for an unknown function", s.position(call), id.Name)
	}
	return names, nil
}

// parameter returns the function around a node that has the parameter, and the
// parameter's position.
func (s *source) parameter(f *ast.File, n ast.Node, param types.Object) (types.Object, int) {
	path, _ := astutil.PathEnclosingInterval(f, n.Pos(), n.Pos())
	for i, node := range path {
		switch fn := node.(type) {
		case *ast.FuncDecl:
			return s.TypesInfo.Defs[fn.Name], s.place(fn.Type, param)
		case *ast.FuncLit:
			assigned, ok := path[i+1].(*ast.AssignStmt)
			if at := s.place(fn.Type, param); ok && at >= 0 {
				return s.TypesInfo.Defs[assigned.Lhs[0].(*ast.Ident)], at
			}
		}
	}
	return nil, -1
}

func (s *source) place(fn *ast.FuncType, param types.Object) int {
	at := 0
	for _, field := range fn.Params.List {
		for _, name := range field.Names {
			if s.TypesInfo.Defs[name] == param {
				return at
			}
			at++
		}
	}
	return -1
}

// checkCalls compares every call in a package with the prototypes, and the prototypes
// with the functions that the package binds.
func (s *source) checkCalls(list []prototype) []string {
	sites, err := s.sites()
	if err != nil {
		return []string{err.Error()}
	}
	var wrong []string
	bound := map[string]bool{}
	for _, name := range s.symbols {
		bound[name] = true
		at := slices.IndexFunc(list, func(p prototype) bool { return p.name == name })
		if at < 0 {
			wrong = append(wrong, name+" is bound but has no prototype")
			continue
		}
		if len(sites[name]) == 0 {
			wrong = append(wrong, name+" is bound but never called")
		}
		for _, call := range sites[name] {
			for _, w := range s.checkCall(list[at], call) {
				wrong = append(wrong, fmt.Sprintf("%s: %s: %s\n\t%s:%d: %s", call.position, name, w, list[at].file, list[at].line, list[at].text))
			}
		}
	}
	for _, p := range list {
		if !bound[p.name] {
			wrong = append(wrong, p.name+" has a prototype but is not bound")
		}
	}
	slices.Sort(wrong)
	return wrong
}

func (s *source) checkCall(p prototype, call site) []string {
	if len(call.args) != len(p.params) {
		return []string{fmt.Sprintf("%d arguments instead of %d", len(call.args), len(p.params))}
	}
	var wrong []string
	if c := ctypes[p.result]; c.kind != enumeration {
		wrong = append(wrong, "the result is not a status")
	}
	for i, param := range p.params {
		a, err := s.classify(call.args[i])
		if err == nil {
			err = fits(param, a)
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("argument %d, %q: %v", i+1, param, err))
		}
	}
	return wrong
}

func TestCalls(t *testing.T) {
	for _, name := range bound {
		s := readSource(t, name)
		list := readPrototypes(t, name+".h")
		for _, w := range s.checkCalls(list) {
			t.Error(w)
		}
		sites, _ := s.sites()
		n := 0
		for _, calls := range sites {
			n += len(calls)
		}
		t.Logf("%s: %d functions, %d calls", name, len(s.symbols), n)
	}
}

// argument is a Go expression passed to a function.
type argument struct {
	form passed
	typ  types.Type // of a number, or of the target of a pointer
	name string     // of a constant or a variable
	zero bool
}

type passed int

const (
	aNumber passed = iota
	aConstant
	anAddress // of host memory with elements of typ, or of any type if typ is nil
	aHandle
	onDevice
)

// classify returns the meaning of an argument of type uintptr.
func (s *source) classify(e ast.Expr) (argument, error) {
	inner := e
	if conv, ok := e.(*ast.CallExpr); ok && s.TypesInfo.Types[conv.Fun].IsType() {
		inner = conv.Args[0]
	}
	name := lastName(inner)
	if v := s.value(inner); v != nil {
		return argument{form: aConstant, name: name, zero: s.number(inner) == 0}, nil
	}
	t := s.TypesInfo.Types[inner].Type
	if basic, ok := t.Underlying().(*types.Basic); ok {
		switch {
		case basic.Kind() == types.UnsafePointer:
			return argument{form: anAddress, typ: s.pointee(inner)}, nil
		case isNamed(t, "Ptr"):
			return argument{form: onDevice, name: name}, nil
		case types.Identical(t, types.Typ[types.Uintptr]):
			return argument{form: aHandle, name: name}, nil
		case basic.Info()&types.IsInteger != 0:
			return argument{form: aNumber, typ: t, name: name}, nil
		}
	}
	return argument{}, fmt.Errorf("the meaning of a %s in C is unknown", t)
}

// pointee returns the type behind unsafe.Pointer(x), or of its elements for an array.
func (s *source) pointee(e ast.Expr) types.Type {
	conv, ok := e.(*ast.CallExpr)
	if !ok {
		return nil
	}
	p, ok := s.TypesInfo.Types[conv.Args[0]].Type.(*types.Pointer)
	if !ok {
		return nil
	}
	if array, ok := p.Elem().(*types.Array); ok {
		return array.Elem()
	}
	return p.Elem()
}

func isNamed(t types.Type, name string) bool {
	n, ok := t.(*types.Named)
	return ok && n.Obj().Name() == name
}

// lastName returns a name, or the last name of a selection.
func lastName(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	case *ast.StarExpr:
		return lastName(x.X)
	case *ast.UnaryExpr:
		if x.Op == token.AND {
			return lastName(x.X)
		}
	}
	return ""
}

var goSizes = types.SizesFor("gc", "amd64")

// fits returns why an argument does not match a parameter, nil if it does.
func fits(p param, a argument) error {
	c, known := ctypes[p.base]
	switch {
	case !known && p.base != "void":
		return fmt.Errorf("the type %s is not in ctypes", p.base)
	case p.stars > 0:
		return fitsPointer(p, c, a)
	case c.kind == handle:
		if a.form != aHandle {
			return fmt.Errorf("C takes a handle, but Go passes %s", a.form)
		}
		return nil
	case p.base == deviceAddress:
		if a.form != onDevice {
			return fmt.Errorf("C takes an address on the device, but Go passes %s", a.form)
		}
		return nil
	case c.kind == enumeration:
		return fitsEnumeration(p, a)
	case c.kind == integer:
		return fitsInteger(p, c, a)
	}
	return fmt.Errorf("Go cannot pass a %s by value", p.base)
}

func (f passed) String() string {
	return [...]string{"a number", "a constant", "an address in host memory", "a handle", "an address on the device"}[f]
}

// memory tells where pointers of these names point.
var memory = map[string]passed{
	"A": onDevice, "B": onDevice, "C": onDevice, "a": onDevice, "b": onDevice, "c": onDevice, "info": onDevice,
	"bufferOnDevice": onDevice, "d_work": onDevice, "bufferOnHost": anAddress, "h_work": anAddress,
	"alpha": anAddress, "beta": anAddress,
}

func fitsPointer(p param, c ctype, a argument) error {
	where, known := memory[p.name]
	switch {
	case known && a.form != where:
		return fmt.Errorf("C takes %s, but Go passes %s", where, a.form)
	case a.form == aConstant && a.zero && p.stars > 1: // NULL
		return nil
	case a.form == onDevice && p.stars == 1 && p.base != deviceAddress && c.kind != handle:
		return nil
	case a.form != anAddress:
		return fmt.Errorf("C takes a pointer, but Go passes %s", a.form)
	case a.typ == nil:
		if p.base != "void" {
			return fmt.Errorf("Go passes the address of something unknown")
		}
		return nil
	}
	size := goSizes.Sizeof(a.typ)
	float := types.Identical(a.typ, types.Typ[types.Float64]) || types.Identical(a.typ, types.Typ[types.Float32])
	_, pointer := a.typ.(*types.Pointer)
	pointer = pointer || types.Identical(a.typ, types.Typ[types.Uintptr])
	switch {
	case p.stars > 1 || c.kind == handle:
		if !pointer {
			return fmt.Errorf("C points to pointers, but Go to %s", a.typ)
		}
	case p.base == "void": // anything, including an array of pointers; the headers check this case
	case size != c.size || float != (c.kind == real):
		return fmt.Errorf("C points to a %s of %d bytes, but Go to %s", p.base, c.size, a.typ)
	}
	return nil
}

func fitsEnumeration(p param, a argument) error {
	base := cmp.Or(synonyms[p.base], p.base)
	switch a.form {
	case aConstant:
		if enum := constants[a.name].ctype; enum != base {
			return fmt.Errorf("Go passes %q, which belongs to the enumeration %q", a.name, enum)
		}
		return nil
	case aNumber:
		if n, ok := a.typ.(*types.Named); ok && goEnums[n.Obj().Name()] != base {
			return fmt.Errorf("Go passes a %s, which is a %q", a.typ, goEnums[n.Obj().Name()])
		}
		return nil
	case aHandle: // types like Transpose have the underlying type uintptr, and a name
	}
	return fmt.Errorf("C takes a value of an enumeration, but Go passes %s", a.form)
}

func fitsInteger(p param, c ctype, a argument) error {
	switch {
	case a.form == aConstant:
		if enum := constants[a.name].ctype; enum != "" {
			return fmt.Errorf("Go passes %s of the enumeration %s", a.name, enum)
		}
		return nil
	case a.form != aNumber:
		return fmt.Errorf("C takes an integer, but Go passes %s", a.form)
	}
	// An int is a length or a small index; sizes of data are int64.
	if size := goSizes.Sizeof(a.typ); size > c.size && !types.Identical(a.typ, types.Typ[types.Int]) {
		return fmt.Errorf("C takes %d bytes, but Go passes a %s", c.size, a.typ)
	}
	if slices.Contains([]string{"m", "n", "k"}, a.name) && dimension.MatchString(p.name) && !strings.EqualFold(a.name, p.name[:1]) {
		return fmt.Errorf("Go passes %s", a.name)
	}
	for _, r := range roles {
		if (a.name == r.inGo) != r.inC.MatchString(p.name) {
			return fmt.Errorf("only one of Go and C has %s here", r.what)
		}
	}
	return nil
}

// dimension matches parameters such as n and N_A.
var dimension = regexp.MustCompile(`^([a-z]|[A-Z]_A)$`)

// roles are meanings that a number has by its name, in Go and in C.
var roles = []struct {
	what, inGo string
	inC        *regexp.Regexp
}{
	{"a leading dimension", "LD", regexp.MustCompile(`^(ld|lld|LLD_)`)},
	{"a first row", "Row", regexp.MustCompile(`^i[abc]$`)},
	{"a first column", "Col", regexp.MustCompile(`^j[abc]$`)},
	{"the order of a block", "order", regexp.MustCompile(`^([mn]b|[MN]B_A)$`)},
	{"the rows of a grid", "rows", regexp.MustCompile(`^(nprow|numRowDevices)$`)},
	{"the columns of a grid", "cols", regexp.MustCompile(`^(npcol|numColDevices)$`)},
}
