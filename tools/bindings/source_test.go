package bindings

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"

	"gpfit/device/cuda/driver"
	"gpfit/internal/testcheck"
	"gpfit/tools/structure"
)

// source is a package that binds functions, parsed and type-checked.
type source struct {
	*packages.Package
	// symbols maps the variable that is a function's index to its exported name.
	symbols map[string]string
}

var loadSources = sync.OnceValues(func() (map[string]*source, error) {
	pkgs, err := structure.Load("../../device/cuda", "./driver", "./mathlib")
	if err != nil {
		return nil, err
	}
	out := map[string]*source{}
	for _, p := range pkgs {
		out[p.Name] = &source{Package: p, symbols: map[string]string{}}
	}
	return out, nil
})

// readSource returns one of the bound packages.
func readSource(t *testing.T, name string) *source {
	t.Helper()
	if !driver.Supported {
		t.Skip("this build has no bindings")
	}
	all := testcheck.Get(loadSources())(t)
	s := all[name]
	for variable, value := range s.variables() {
		if call, ok := value.(*ast.CallExpr); ok && s.TypesInfo.Types[value].Type.String() == s.PkgPath+".function" {
			s.symbols[variable] = s.text(call.Args[0])
		}
	}
	if len(s.symbols) == 0 {
		t.Fatalf("package %s binds no functions", name)
	}
	return s
}

// variables returns the initial values of package-level variables.
func (s *source) variables() map[string]ast.Expr {
	out := map[string]ast.Expr{}
	for _, init := range s.TypesInfo.InitOrder {
		out[init.Lhs[0].Name()] = init.Rhs
	}
	return out
}

// elements returns the keys and values of a composite literal.
func elements(e ast.Expr) map[ast.Expr]ast.Expr {
	out := map[ast.Expr]ast.Expr{}
	if lit, ok := e.(*ast.CompositeLit); ok {
		for _, item := range lit.Elts {
			if kv, ok := item.(*ast.KeyValueExpr); ok {
				out[kv.Key] = kv.Value
			}
		}
	}
	return out
}

// value returns the value of a constant expression, or nil.
func (s *source) value(e ast.Expr) constant.Value { return s.TypesInfo.Types[e].Value }

func (s *source) text(e ast.Expr) string {
	if v := s.value(e); v != nil && v.Kind() == constant.String {
		return constant.StringVal(v)
	}
	return ""
}

func (s *source) number(e ast.Expr) int64 {
	n, _ := constant.Int64Val(s.value(e))
	return n
}

func (s *source) position(n ast.Node) string {
	p := s.Fset.Position(n.Pos())
	return fmt.Sprintf("%s/%s:%d", s.Name, p.Filename[strings.LastIndex(p.Filename, "/")+1:], p.Line)
}

// integers returns the constants of the package, including constants within functions,
// except our own enumerations and defaults of variables.
func (s *source) integers() map[string]int64 {
	out := map[string]int64{}
	for _, obj := range s.TypesInfo.Defs {
		c, ok := obj.(*types.Const)
		if !ok || c.Val().Kind() != constant.Int {
			continue
		}
		named, isNamed := c.Type().(*types.Named)
		if isNamed && goEnums[named.Obj().Name()] == "" {
			continue
		}
		if c.Parent() != s.Types.Scope() && constants[c.Name()].name == "" {
			continue
		}
		out[c.Name()], _ = constant.Int64Val(c.Val())
	}
	return out
}

// TestConstants checks that every number in the packages that could be CUDA's is in the
// table of constants or in the list of our own.
func TestConstants(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range bound {
		for c := range readSource(t, name).integers() {
			seen[c] = true
			if constants[c].name == "" && !ownConstants[c] {
				t.Errorf("%s.%s: name its enumerator in constants, or put it into ownConstants", name, c)
			}
		}
	}
	for _, c := range slices.Sorted(maps.Keys(constants)) {
		if !seen[c] {
			t.Errorf("unnecessary in constants: %s", c)
		}
	}
	for c := range ownConstants {
		if !seen[c] {
			t.Errorf("unnecessary in ownConstants: %s", c)
		}
	}
}

// TestCopyLayout checks that memcpy2D has the fields of the table, in its order.
func TestCopyLayout(t *testing.T) {
	layout := readSource(t, "driver").copyLayout()
	if len(layout) != len(copyFields) {
		t.Fatalf("memcpy2D has %d fields, CUDA_MEMCPY2D %d", len(layout), len(copyFields))
	}
	short := strings.NewReplacer("InBytes", "", "Memory", "")
	for i, f := range layout {
		if f.name != "_" && !strings.EqualFold(f.name, short.Replace(copyFields[i])) {
			t.Errorf("field %d of memcpy2D is %s, of CUDA_MEMCPY2D %s", i, f.name, copyFields[i])
		}
	}
}

// field is the offset and the length of a field in a struct.
type field struct {
	name         string
	offset, size int64
}

// copyLayout returns the layout of driver's memcpy2D.
func (s *source) copyLayout() []field {
	st := s.Types.Scope().Lookup("memcpy2D").Type().Underlying().(*types.Struct)
	var vars []*types.Var
	for v := range st.Fields() {
		vars = append(vars, v)
	}
	var out []field
	for i, offset := range goSizes.Offsetsof(vars) {
		out = append(out, field{vars[i].Name(), offset, goSizes.Sizeof(vars[i].Type())})
	}
	return out
}
