package fields

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Table is a table of texts.
type Table struct {
	Caption string
	Heads   []Head
	Rows    []Row
	// Folded says that a page hides the table until the reader opens it.
	Folded bool
	// Flush says that the first column of the text begins at the edge.
	Flush bool
}

// Head is the head of a column.
type Head struct {
	Text string
	// Words says that the column of a page holds words, which begin at the left; numbers end at the right. Wrap
	// allows line breaks there. Left puts the cells of the text at the left, too.
	Words, Wrap, Left bool
	// Layout is the form of a cell in the text, such as "  %14s"; empty for two blanks and the width of the cells.
	Layout string
	// path is the path of the column's field.
	path string
}

// Row is a row of a table. It may have fewer cells than the table has heads.
type Row struct {
	Cells []Cell
	// Note follows the last cell.
	Note string
	// Best and Bad make the row stand out on a page.
	Best, Bad bool
}

// Cell is a cell of a table.
type Cell struct {
	Text string
	// Bar is the length of a bar behind the text on a page, from 0 to 1; 0 draws none.
	Bar float64
}

// Of returns a table with a row for each result and a column for each path. The path "#" is the number of the row.
func Of[T any](results []T, paths ...string) Table {
	var t Table
	for _, path := range paths {
		f := Named(path)
		t.Heads = append(t.Heads, Head{Text: f.Head, Left: f.Left, path: path})
	}
	for i := range results {
		cells := make([]string, len(paths))
		for k, path := range paths {
			if cells[k] = fmt.Sprint(i); path != "#" {
				v := Value(&results[i], path)
				cells[k] = Named(path).Text(v)
				t.Heads[k].Words = reflect.ValueOf(v).Kind() == reflect.String
			}
		}
		t.Add(cells...)
	}
	return t
}

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

// Add adds a row of plain cells and returns it.
func (t *Table) Add(texts ...string) *Row {
	row := Row{Cells: make([]Cell, len(texts))}
	for i, text := range texts {
		row.Cells[i].Text = text
	}
	t.Rows = append(t.Rows, row)
	return &t.Rows[len(t.Rows)-1]
}

// Remark adds to the note of a row.
func (r *Row) Remark(text string) {
	if r.Note != "" {
		r.Note += ", "
	}
	r.Note += text
}

// Column adds a column on the right. The function of returns the text of a row.
func (t *Table) Column(head Head, of func(row int) string) {
	t.Heads = append(t.Heads, head)
	for i := range t.Rows {
		t.Rows[i].Cells = append(t.Rows[i].Cells, Cell{Text: of(i)})
	}
}

// Text returns the table as lines of text.
func (t *Table) Text() string {
	heads := Row{}
	for _, h := range t.Heads {
		heads.Cells = append(heads.Cells, Cell{Text: h.Text})
	}
	rows := slices.Concat([]Row{heads}, t.Rows)
	widths := make([]int, len(t.Heads))
	for _, row := range rows {
		for i, c := range row.Cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(c.Text))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		for i, c := range row.Cells {
			b.WriteString(t.cell(i, c.Text, widths[i]))
		}
		if row.Note != "" {
			b.WriteString("  " + row.Note)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// cell returns a text as column i of a width shows it.
func (t *Table) cell(i int, text string, width int) string {
	h, gap := t.Heads[i], "  "
	if i == 0 && t.Flush {
		gap = ""
	}
	switch {
	case h.Layout != "":
		return fmt.Sprintf(h.Layout, text)
	case h.Left && i == len(t.Heads)-1:
		return gap + text
	case h.Left:
		return fmt.Sprintf("%s%-*s", gap, width, text)
	}
	return fmt.Sprintf("%s%*s", gap, width, text)
}

// Filled returns the tables that have rows, without columns that say nothing of any row.
func Filled(tables ...Table) []Table {
	for i := range tables {
		tables[i].dropEmpty()
	}
	return slices.DeleteFunc(tables, func(t Table) bool { return len(t.Rows) == 0 })
}

// dropEmpty leaves out the columns of which every row has a dash or nothing.
func (t *Table) dropEmpty() {
	for c := len(t.Heads) - 1; c > 0 && len(t.Rows) > 0; c-- {
		says := func(r Row) bool { return c < len(r.Cells) && r.Cells[c].Text != "" && r.Cells[c].Text != "-" }
		if slices.ContainsFunc(t.Rows, says) {
			continue
		}
		t.Heads = slices.Delete(slices.Clone(t.Heads), c, c+1)
		for i, r := range t.Rows {
			if c < len(r.Cells) {
				t.Rows[i].Cells = slices.Delete(r.Cells, c, c+1)
			}
		}
	}
}

// Rename gives the column of a path another head.
func (t *Table) Rename(path, head string) {
	for i := range t.Heads {
		if t.Heads[i].path == path {
			t.Heads[i].Text = head
		}
	}
}
