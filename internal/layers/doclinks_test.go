package layers

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/types"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"gpfit/internal/must"
)

// docLinks returns the links of a comment that name a Go identifier, such as [Task], [Task.Fit],
// [*os.PathError], and the links to packages with a path, such as [encoding/json]. It ignores other
// lower-case words in brackets, which may be anything.
func docLinks(c *ast.CommentGroup) []*comment.DocLink {
	var links []*comment.DocLink
	parser := comment.Parser{
		LookupPackage: func(name string) (string, bool) { return name, true },
		LookupSym:     func(recv, name string) bool { return true },
	}
	for _, text := range texts(parser.Parse(c.Text()).Content) {
		if link, ok := text.(*comment.DocLink); ok && (link.Name != "" || strings.Contains(link.ImportPath, "/")) {
			links = append(links, link)
		}
	}
	return links
}

// texts returns the pieces of text of blocks, also of lists. Headings contain no links.
func texts(blocks []comment.Block) []comment.Text {
	var out []comment.Text
	for _, b := range blocks {
		switch b := b.(type) {
		case *comment.Paragraph:
			out = append(out, b.Text...)
		case *comment.List:
			for _, item := range b.Items {
				out = append(out, texts(item.Content)...)
			}
		}
	}
	return out
}

// resolves reports whether the target of a link in a comment of pkg exists: in the
// package itself, in a package that it imports, or in the standard library.
func resolves(pkg *packages.Package, link *comment.DocLink) bool {
	in := pkg.Types
	if name := link.ImportPath; name != "" {
		i := slices.IndexFunc(in.Imports(), func(p *types.Package) bool { return p.Path() == name || p.Name() == name })
		if i < 0 {
			_, standard := comment.DefaultLookupPackage(name)
			return standard
		}
		in = in.Imports()[i]
	}
	switch {
	case link.Name == "":
		return true
	case link.Recv == "":
		return in.Scope().Lookup(link.Name) != nil
	}
	t, ok := in.Scope().Lookup(link.Recv).(*types.TypeName)
	if !ok {
		return false
	}
	obj, _, _ := types.LookupFieldOrMethod(t.Type(), true, in, link.Name)
	return obj != nil
}

// falseLinks lists the links in a package's doc comments without a target.
func falseLinks(pkg *packages.Package) []string {
	var wrong []string
	check := func(c *ast.CommentGroup) {
		for _, link := range docLinks(c) {
			if !resolves(pkg, link) {
				parts := slices.DeleteFunc([]string{link.ImportPath, link.Recv, link.Name}, func(s string) bool { return s == "" })
				wrong = append(wrong, fmt.Sprintf("%s: [%s] leads nowhere", pkg.Fset.Position(c.Pos()), strings.Join(parts, ".")))
			}
		}
	}
	for _, file := range pkg.Syntax {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.File:
				check(n.Doc)
			case *ast.FuncDecl:
				check(n.Doc)
				return false
			case *ast.GenDecl:
				check(n.Doc)
			case *ast.TypeSpec:
				check(n.Doc)
			case *ast.ValueSpec:
				check(n.Doc)
			case *ast.Field:
				check(n.Doc)
			}
			return true
		})
	}
	return wrong
}

// TestDocLinks checks that the links of all doc comments have targets.
func TestDocLinks(t *testing.T) {
	for _, pkg := range loadModule(t) {
		for _, what := range falseLinks(pkg) {
			t.Error(what)
		}
	}
}

// TestFalseLinks checks that links without a target are found in any doc comment,
// and that links with a target are not reported.
func TestFalseLinks(t *testing.T) {
	dir := writeModule(t, map[string]string{
		"go.mod": "module m\n\ngo 1.26\n",
		"m.go": `// Package m has [Gone0] and [T], [*T], [T.M], [T.F], [os.File], [encoding/json] and matrix[T] and [t].
package m

import "os"

// T has:
//   - [Gone1] and [os.Gone2]
type T struct {
	// F has [T.Gone3].
	F *os.File
}

// M has [gone.Gone4] and [io/gone].
func (*T) M() {
	// [Gone5] is no link here.
}
`,
	})
	pkgs := must.Get(Load(dir, "."))(t)
	got := strings.Join(falseLinks(pkgs[0]), "\n")
	want := []string{"[encoding/json]", "[Gone0]", "[Gone1]", "[os.Gone2]", "[T.Gone3]", "[gone.Gone4]", "[io/gone]"}
	for _, link := range want {
		if !strings.Contains(got, link) {
			t.Errorf("%s is not found in:\n%s", link, got)
		}
	}
	if n := strings.Count(got, "\n") + 1; n != len(want) {
		t.Errorf("%d links are found, want %d:\n%s", n, len(want), got)
	}
}
