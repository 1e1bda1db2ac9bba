// Package page lays out the pages that gpfit writes: one HTML file each, which holds its
// style, its script and its figures, and loads nothing. The pages are readable on a
// telephone, in dark mode and in print, and without the script, which sorts tables, shows
// values under the pointer and predicts rows. [Page.Write] writes one.
package page

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	//go:embed page.html
	layout string
	//go:embed page.css
	style string
	//go:embed page.js
	script string

	parsed = template.Must(template.New("page").Funcs(template.FuncMap{
		"style": func() template.CSS { return template.CSS(style) },
		// The section of characters keeps the page XML, too.
		"script": func() template.JS { return template.JS("//<![CDATA[\n" + script + "//]]>") },
		"anchor": anchor,
	}).Parse(layout))
)

// PictureWidth is the width of pictures in centimetres. On a telephone of 390 pixels, text
// of 10 points in them has more than 10 pixels.
const PictureWidth = 12

// Page is a page: what it is about in a few sentences, then its sections.
type Page struct {
	Title string
	// Headline says the result in words; the first sentence stands out.
	Headline []string
	// Command is a command line that the last sentence of the headline leads to.
	Command string
	// About says what made the page, from what.
	About    string
	Sections []Section
}

// Section is a part of a page under a heading. It shows its fields in their order and
// leaves out empty ones.
type Section struct {
	Title string
	// Notes are paragraphs, Points a list.
	Notes    []string
	Points   []Remark
	Pictures []Picture
	// WhatIf holds the numbers of which the script makes controls that predict a row; nil for none.
	WhatIf json.RawMessage
	Grids  []Grid
}

// Empty reports whether the section has nothing but a title.
func (s *Section) Empty() bool {
	return len(s.Notes) == 0 && len(s.Points) == 0 && len(s.Pictures) == 0 && len(s.Grids) == 0 && s.WhatIf == nil
}

// Remark is an element of a list: a statement, and what to do about it.
type Remark struct{ Text, Advice string }

// Picture is a picture with its caption.
type Picture struct {
	// SVG is an svg element with a text for people who cannot see it, as package
	// plotting draws it: its texts are escaped, and it takes its colours from the page.
	SVG, Caption string
}

// Grid is a table. It scrolls sideways within its box where the page is too narrow.
type Grid struct {
	Caption string
	Heads   []Head
	Rows    []GridRow
	// Folded hides the table until the reader opens it.
	Folded bool
}

// Head is the head of a column of a table.
type Head struct {
	Text string
	// Words says that the column holds words, which begin at the left; numbers end at the
	// right. Wrap allows line breaks.
	Words, Wrap bool
}

// GridRow is a row of a table.
type GridRow struct {
	Cells []Cell
	// Best and Bad make the row stand out.
	Best, Bad bool
}

// Cell is a cell of a table.
type Cell struct {
	Text string
	// Bar is the length of a bar behind the text, from 0 to 1; 0 draws none.
	Bar float64
}

// Percent returns the length of the bar for the style of the cell.
func (c Cell) Percent() string { return fmt.Sprintf("%.4g%%", 100*min(max(c.Bar, 0), 1)) }

// Words returns the heads of columns of words.
func Words(texts ...string) []Head {
	heads := Numbers(texts...)
	for i := range heads {
		heads[i].Words = true
	}
	return heads
}

// Numbers returns the heads of columns of numbers.
func Numbers(texts ...string) []Head {
	heads := make([]Head, len(texts))
	for i, text := range texts {
		heads[i].Text = text
	}
	return heads
}

// NewRow returns a row of plain cells.
func NewRow(texts ...string) GridRow {
	line := GridRow{Cells: make([]Cell, len(texts))}
	for i, text := range texts {
		line.Cells[i].Text = text
	}
	return line
}

// Add adds a row of plain cells.
func (g *Grid) Add(texts ...string) { g.Rows = append(g.Rows, NewRow(texts...)) }

// Head returns the head of column i.
func (g Grid) Head(i int) Head {
	if i < len(g.Heads) {
		return g.Heads[i]
	}
	return Head{}
}

// Filled returns the grids that have rows.
func Filled(grids ...Grid) []Grid {
	return slices.DeleteFunc(grids, func(g Grid) bool { return len(g.Rows) == 0 })
}

// Numbers returns the JSON of WhatIf for a script element; encoding/json escapes what could end it.
func (s Section) Numbers() template.JS { return template.JS(s.WhatIf) }

// Element returns the svg element for the page.
func (f Picture) Element() template.HTML { return template.HTML(f.SVG) }

// Write writes the page. Sections without content are left out.
func (p *Page) Write(w io.Writer) error {
	shown := *p
	shown.Sections = nil
	for _, s := range p.Sections {
		if !s.Empty() {
			shown.Sections = append(shown.Sections, s)
		}
	}
	buffered := bufio.NewWriterSize(w, 1<<16)
	if err := parsed.Execute(buffered, &shown); err != nil {
		return err
	}
	return buffered.Flush()
}

// anchor returns the name of section i for links within the page.
func anchor(i int) string { return fmt.Sprintf("s%d", i+1) }

// folders matches the folders at the start of an absolute path, of any system.
var folders = regexp.MustCompile(`(^|[\s"'(=,;])((?:[A-Za-z]:)?[/\\](?:[^\s"'(),;:=/\\]+[/\\])+)`)

// WithoutFolders returns text without the folders of absolute paths, which say where the
// files are on somebody's machine. known are paths that may stand in the text with spaces.
func WithoutFolders(text string, known ...string) string {
	var dirs []string
	for _, path := range known {
		if dir := filepath.Dir(path); filepath.IsAbs(path) && dir != filepath.Dir(dir) {
			dirs = append(dirs, dir+string(filepath.Separator))
		}
	}
	slices.SortFunc(dirs, func(a, b string) int { return len(b) - len(a) }) // a folder before the folders above it
	for _, dir := range dirs {
		text = strings.ReplaceAll(text, dir, "")
	}
	return folders.ReplaceAllString(text, "$1")
}
