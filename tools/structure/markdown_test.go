package structure

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/tools/go/packages"

	"gpfit/internal/testcheck"
)

// TestMarkdownLinks checks that the links and pictures of all Markdown pages lead to files
// of the repository, and anchors to headings.
func TestMarkdownLinks(t *testing.T) {
	pages := markdownPages(t, "../..")
	if len(pages) < 20 {
		t.Errorf("%d pages found", len(pages))
	}
	links := 0
	for _, page := range pages {
		text := testcheck.Get(os.ReadFile(page))(t)
		for _, link := range markdownLinks(string(text)) {
			links++
			if err := checkLink(page, link.target); err != nil {
				t.Errorf("%s:%d: %v", page, link.line, err)
			}
		}
	}
	if links < 100 {
		t.Errorf("%d links found", links)
	}
}

// TestMarkdownLinksFail checks that bad links and anchors are found, and what is no link is not.
func TestMarkdownLinksFail(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "a.md")
	text := "# A `title`, with *signs* & more\n\n[1](b.md) [2](#none)\n```sh\n# code\n[3](c.md)\n```\n`[4](d.md)` [5](#a-title-with-signs--more)\n## Twice\n## Twice\n[6](a.md#twice-1) [7](https://example.org/x.md) ![8](p.svg \"title\") [9](#code)\n"
	testcheck.Do(t, os.WriteFile(page, []byte(text), 0o644))
	var bad []string
	for _, link := range markdownLinks(text) {
		if err := checkLink(page, link.target); err != nil {
			bad = append(bad, fmt.Sprint(link.line, " ", link.target))
		}
	}
	if want := []string{"3 b.md", "3 #none", "11 p.svg", "11 #code"}; !slices.Equal(bad, want) {
		t.Errorf("bad links %q, want %q", bad, want)
	}
}

// markdownPages returns the Markdown files below root, without hidden folders other than
// .github and without what builds leave behind.
func markdownPages(t *testing.T, root string) []string {
	var pages []string
	testcheck.Do(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		hidden := strings.HasPrefix(name, ".") && name != ".github" && name != ".." && path != root
		if d.IsDir() && (hidden || slices.Contains([]string{"build", "dist", "bin", "site", "venv"}, name)) {
			return filepath.SkipDir
		}
		if strings.HasSuffix(name, ".md") {
			pages = append(pages, path)
		}
		return nil
	}))
	return pages
}

type markdownLink struct {
	line   int
	target string
}

var (
	linkTarget = regexp.MustCompile(`\]\(([^()\s]+)(?:\s+"[^"]*")?\)`)
	codeSpan   = regexp.MustCompile("`[^`]*`")
)

// prose calls yield with the number and the text of each line outside of code blocks.
func prose(text string, yield func(number int, line string)) {
	fence := false
	number := 0
	for line := range strings.Lines(text) {
		number++
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			fence = !fence
		case !fence:
			yield(number, strings.TrimRight(line, "\r\n"))
		}
	}
}

// markdownLinks returns the links of a page, without links in code.
func markdownLinks(text string) []markdownLink {
	var links []markdownLink
	prose(text, func(number int, line string) {
		for _, m := range linkTarget.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, ""), -1) {
			links = append(links, markdownLink{number, m[1]})
		}
	})
	return links
}

// checkLink checks that a link of a page leads to a file, and to a heading if it has an
// anchor. It does not follow links to other hosts.
func checkLink(page, target string) error {
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return nil
	}
	path, anchor, anchored := strings.Cut(target, "#")
	file := page
	if path != "" {
		file = filepath.Join(filepath.Dir(page), filepath.FromSlash(path))
	}
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("the link %s leads nowhere", target)
	}
	if !anchored {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("the link %s: %w", target, err)
	}
	if !slices.Contains(headingAnchors(string(text)), anchor) {
		return fmt.Errorf("the link %s: %s has no heading for this anchor", target, filepath.Base(file))
	}
	return nil
}

// headingAnchors returns the anchors of the headings of a page, as GitHub makes them.
func headingAnchors(text string) []string {
	var anchors []string
	seen := map[string]int{}
	prose(text, func(_ int, line string) {
		title := strings.TrimLeft(line, "#")
		if title == line || !strings.HasPrefix(title, " ") {
			return
		}
		anchor := strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			}
			return -1
		}, strings.TrimSpace(title))
		if n := seen[anchor]; n > 0 {
			anchors = append(anchors, fmt.Sprintf("%s-%d", anchor, n))
		} else {
			anchors = append(anchors, anchor)
		}
		seen[anchor]++
	})
	return anchors
}

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
	dir := module(t, "links")
	pkgs := testcheck.Get(Load(dir, "."))(t)
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
