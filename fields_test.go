package gpfit_test

import (
	"bytes"
	"flag"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"gpfit/gp"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

var writeFields = flag.Bool("write-fields", false, "write the fields in the comments of gpfit.go")

// TestFields checks that the comments of gpfit.Options and gpfit.Data list the fields of the types that
// they stand for, because go doc shows no more of an alias. This writes the lists:
//
//	go test . -run TestFields -write-fields
func TestFields(t *testing.T) {
	text := testcheck.Get(os.ReadFile("gpfit.go"))(t)
	for _, c := range []struct{ name, file string }{{"Options", "fit/problem/options.go"}, {"Data", "fit/problem/data.go"}} {
		begin, end := []byte("//\t// Fields of "+c.name+":\n"), []byte("type "+c.name+" = ")
		from, to := bytes.Index(text, begin), bytes.Index(text, end)
		if from < 0 || to < from {
			t.Fatalf("gpfit.go has no list of the fields of %s", c.name)
		}
		list := fieldList(t, c.file, c.name)
		if !*writeFields && string(text[from+len(begin):to]) != list {
			t.Errorf("the list of fields of %s differs from %s; write it with -write-fields", c.name, c.file)
		}
		text = bytes.Join([][]byte{text[:from], begin, []byte(list), text[to:]}, nil)
	}
	if *writeFields {
		testcheck.Do(t, os.WriteFile("gpfit.go", testcheck.Get(format.Source(text))(t), 0o644))
	}
}

// fieldList returns the exported fields of a struct as lines of a comment, each with the first sentence
// of its own comment before it.
func fieldList(t *testing.T, file, name string) string {
	parsed := testcheck.Get(parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments))(t)
	var out strings.Builder
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != name {
			return true
		}
		for _, f := range spec.Type.(*ast.StructType).Fields.List {
			var names []string
			for _, n := range f.Names {
				names = append(names, n.Name)
			}
			if sentence := new(doc.Package).Synopsis(f.Doc.Text()); sentence != "" {
				out.WriteString("//\t// " + sentence + "\n")
			}
			var kind bytes.Buffer
			testcheck.Do(t, format.Node(&kind, token.NewFileSet(), f.Type))
			out.WriteString("//\t" + strings.TrimSpace(strings.Join(names, ", ")+" "+kind.String()) + "\n")
		}
		return false
	})
	return out.String()
}

// TestApproximationFields checks that the page on large tables names each field of the JSON of an approximation.
func TestApproximationFields(t *testing.T) {
	page := string(testcheck.Get(os.ReadFile("docs/large.md"))(t))
	for f := range reflect.TypeFor[gp.Approximation]().Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); !regexp.MustCompile("(?m)^\\| (`[a-z_]+`, )?`" + name + "`").MatchString(page) {
			t.Errorf("docs/large.md does not explain %s", name)
		}
	}
}

// TestPowerExponential checks that the hint for a kernel of R is the formula of the page from R.
func TestPowerExponential(t *testing.T) {
	_, err := kernel.Parse("powexp")
	for _, text := range []string{err.Error(), string(testcheck.Get(os.ReadFile("docs/from-r.md"))(t))} {
		testcheck.Words(t, text, "formula(exp(-(r/a)^p), a=1, p=1, dims=c)", "p=0.01:2")
	}
	testcheck.Get(kernel.Parse("formula(exp(-(r/a)^p), a=1, p=1, dims=0)"))(t)
}
