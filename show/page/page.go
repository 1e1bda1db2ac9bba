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
	"sync"

	"gpfit/fit/fields"
	"gpfit/internal/each"
	"gpfit/show/plotting"
)

var (
	//go:embed page.html
	layout string
	//go:embed page.css
	style string
	//go:embed page.js
	script string

	parsed = sync.OnceValue(func() *template.Template {
		return template.Must(template.New("page").Funcs(template.FuncMap{
			"style": func() template.CSS { return template.CSS(style) },
			// The section of characters keeps the page XML, too.
			"script": func() template.JS { return template.JS("//<![CDATA[\n" + script + "//]]>") },
			"anchor": anchor, "barWidth": barWidth,
		}).Parse(layout))
	})
)

// pictureWidth is the width of pictures in centimetres. On a telephone of 390 pixels, text
// of 10 points in them has more than 10 pixels.
const pictureWidth = 12

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
	Tables []fields.Table
}

// Empty reports whether the section has nothing but a title.
func (s *Section) Empty() bool {
	return len(s.Notes) == 0 && len(s.Points) == 0 && len(s.Pictures) == 0 && len(s.Tables) == 0 && s.WhatIf == nil
}

// Remark is an element of a list: a statement, and what to do about it.
type Remark struct{ Text, Advice string }

// The heights of pictures in centimetres.
const Wide, Square = 8, 10

// Draw adds a picture of a chart. caption stands above it, and alt describes it.
func (s *Section) Draw(caption, alt string, height float64, chart plotting.Chart) error {
	f := plotting.Figure{Alt: alt, Size: plotting.Size{Width: pictureWidth, Height: height}, Charts: []plotting.Chart{chart}}
	svg, err := f.SVG()
	s.Pictures = append(s.Pictures, Picture{SVG: svg, Caption: caption})
	return err
}

// Picture is a picture with its caption.
type Picture struct {
	// SVG is an svg element with a text for people who cannot see it, as package
	// plotting draws it: its texts are escaped, and it takes its colours from the page.
	SVG, Caption string
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
		if s.Empty() {
			continue
		}
		tables := each.Of(s.Tables, even)
		s.Tables = tables
		shown.Sections = append(shown.Sections, s)
	}
	buffered := bufio.NewWriterSize(w, 1<<16)
	if err := parsed().Execute(buffered, &shown); err != nil {
		return err
	}
	return buffered.Flush()
}

// even returns the table with a cell in each row for each head, and the notes as cells of a last column.
func even(t fields.Table) fields.Table {
	out := fields.Table{Caption: t.Caption, Folded: t.Folded, Heads: slices.Clone(t.Heads)}
	noted := slices.ContainsFunc(t.Rows, func(r fields.Row) bool { return r.Note != "" })
	if noted {
		out.Heads = append(out.Heads, fields.Words("remark")...)
	}
	for _, r := range t.Rows {
		r.Cells = append(slices.Clone(r.Cells), make([]fields.Cell, len(out.Heads)-len(r.Cells))...)
		if noted {
			r.Cells[len(t.Heads)].Text = r.Note
		}
		out.Rows = append(out.Rows, r)
	}
	return out
}

// barWidth returns the length of the bar of a cell for its style.
func barWidth(bar float64) string { return fmt.Sprintf("%.4g%%", 100*min(max(bar, 0), 1)) }

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
