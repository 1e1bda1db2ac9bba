package table

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gpfit/table/feature"
)

// totals matches the first cells of lines of totals.
var totals = regexp.MustCompile(`^(?i:(sub-? ?|grand )?totals?|summe|zwischensumme|gesamt|somme)\b`)

// look finds, before a survey knows the columns of a text, faults of rows, how numbers and dates are written, and a total.
type look struct {
	in    *rows
	found []Fault
	// all counts the rows, and numbers and dates the numbers and dates of each column.
	all            int
	numbers, dates []int
	// texts are the ways to write numbers that read all cells so far that plain numbers do not, and orders the orders of dates.
	texts  []feature.Text
	orders []feature.DateOrder
	// as and order are the first of them in the end.
	as    feature.Text
	order feature.DateOrder
	// commas and bare are the columns with numbers that have a comma, and with whole numbers of at most three digits without one.
	commas, bare map[int]bool
	// units are the signs of currencies and per cent of the first number of each column, and mixed says that another number has others.
	units map[int]string
	mixed bool
	// total is a fault of the last row: a text in a column that has numbers or dates in all rows before.
	total *Fault
	// tail are the last lines so far whose rows have fewer cells, as notes have.
	tail []int
}

func newLook(in *rows) *look {
	l := &look{in: in, numbers: make([]int, len(in.names)), dates: make([]int, len(in.names)), orders: feature.DateOrders(),
		commas: map[int]bool{}, bare: map[int]bool{}, units: map[int]string{}}
	if in.as.PlainNumbers() {
		l.texts = feature.Texts()[1:]
	}
	return l
}

// note counts a fault of a kind in a line.
func (l *look) note(kind string, e *Error, line int) {
	k := slices.IndexFunc(l.found, func(f Fault) bool { return f.cure == kind })
	if k < 0 {
		k, l.found = len(l.found), append(l.found, Fault{First: e, index: -1, Row: e.ragged, cure: kind})
	}
	l.found[k].Count, l.found[k].lines = l.found[k].Count+1, append(l.found[k].lines, line)
}

// row looks at the current row.
func (l *look) row() {
	in := l.in
	if !slices.ContainsFunc(in.cells, func(cell []byte) bool { return len(trim(cell)) > 0 }) {
		return // missing values
	}
	if k := slices.IndexFunc(in.cells, func(cell []byte) bool { return totals.Match(trim(cell)) }); k >= 0 && len(in.names) > 1 {
		l.note("total", in.errorAt(k, fmt.Sprintf("%s begins a line of totals", quote(string(in.cells[k])))), in.at)
		return
	}
	l.all++
	l.total, l.tail = nil, nil
	words, filled := in.named && len(in.names) > 1, 0
	for c, cell := range in.cells {
		cell = trim(cell)
		_, number := in.parse(cell)
		unclear := feature.UnclearDate(string(cell))
		date := unclear || !number && feature.Recognize(string(cell)) == feature.Date
		switch {
		case number:
		case date:
			l.dates[c]++
		case bytes.ContainsAny(cell, "0123456789") && l.reads(c, cell):
			number = true
		case max(l.numbers[c], l.dates[c]) == l.all-1 && l.all > 2 && !in.looksLikeData(cell):
			l.total = &Fault{First: in.errorAt(c, fmt.Sprintf("%s where all rows before have numbers or dates, as in a line of totals", quote(string(cell)))), Count: 1, index: -1, cure: "total", lines: []int{in.at}}
		}
		if number {
			l.numbers[c]++
			l.form(c, cell)
			l.texts = slices.DeleteFunc(l.texts, func(t feature.Text) bool { return !readsAs(t, cell) })
		}
		if unclear {
			l.orders = slices.DeleteFunc(l.orders, func(o feature.DateOrder) bool { return !o.Reads(string(cell)) })
			l.note("date-order", in.errorAt(c, fmt.Sprintf("%s has the day or the month first, which option date-order says", quote(string(cell)))), in.at)
		}
		words = words && !number && !date && (len(cell) == 0 || !in.looksLikeData(cell))
		if len(cell) > 0 {
			filled++
		}
	}
	if words && filled > 1 && (slices.Max(l.numbers) == 0 || slices.EqualFunc(in.names, in.cells, func(name string, cell []byte) bool { return name == string(cell) })) {
		l.note("words", &Error{Source: in.source, Line: in.at, Msg: "no cell is a number, as in a second header"}, in.at)
	}
}

// form notes how a number of a column is written.
func (l *look) form(c int, cell []byte) {
	l.commas[c] = l.commas[c] || bytes.IndexByte(cell, ',') >= 0
	l.bare[c] = l.bare[c] || len(cell) <= 3 && len(bytes.Trim(cell, "0123456789")) == 0
	unit := strings.Trim(string(cell), "+-−()0123456789., '\u00a0\u202f\u2009eE")
	if before, ok := l.units[c]; ok && before != unit {
		l.mixed = true
	}
	l.units[c] = unit
}

// choose returns the way to write numbers that reads all of them. Where both a decimal comma and a comma between thousands do, short whole
// numbers in such a column mean thousands. A column has numbers of one unit.
func (l *look) choose() (feature.Text, bool) {
	left := slices.DeleteFunc(slices.Clone(l.texts), func(t feature.Text) bool { return t.Units && l.mixed })
	if len(left) == 0 {
		return feature.Text{}, false
	}
	first := left[0]
	thousands := feature.Text{Thousands: ",", Units: first.Units}
	for c := range l.commas {
		if l.commas[c] && l.bare[c] && first.Decimal == "," && slices.Contains(left, thousands) {
			return thousands, true
		}
	}
	return first, true
}

// reads notes a number that is written in another way, if one of those left reads it.
func (l *look) reads(c int, cell []byte) bool {
	k := slices.IndexFunc(l.texts, func(t feature.Text) bool { return readsAs(t, cell) })
	if k < 0 {
		return false
	}
	l.note("text", l.in.errorAt(c, fmt.Sprintf("%s is no plain number: %s reads it", quote(string(cell)), l.texts[k].Options())), l.in.at)
	return true
}

// readsAs reports whether a cell is a number in a way to write it.
func readsAs(t feature.Text, cell []byte) bool {
	number, ok := t.Number(cell)
	if ok {
		_, ok = parseNumber(number)
	}
	return ok
}

// title returns the fault of a first line that has another number of cells than all rows below it, nil if it has not.
func (l *look) title() *Fault {
	k := slices.IndexFunc(l.found, func(f Fault) bool { return f.First.ragged && f.Count > 1 && f.Count > 9*l.all })
	if k < 0 {
		return nil
	}
	return &Fault{
		First: &Error{Source: l.in.source, Line: l.in.first, Msg: fmt.Sprintf("%s has another number of cells than the rows below, as a title has", quote(strings.Join(l.in.names, " ")))},
		Count: 1, index: -1, cure: "title", lines: []int{l.in.first},
	}
}

// faults returns the faults that are not contradicted by other rows.
func (l *look) faults() []Fault {
	read := false
	l.as, read = l.choose()
	if len(l.orders) == 1 {
		l.order = l.orders[0]
	}
	for i := range l.found { // notes at the end are no rows
		f := &l.found[i]
		f.Row = f.Row && slices.ContainsFunc(f.lines, func(line int) bool { return !slices.Contains(l.tail, line) })
	}
	if l.total != nil {
		l.found = append(l.found, *l.total)
	}
	return slices.DeleteFunc(l.found, func(f Fault) bool {
		if f.First.ragged && !f.Row {
			return false // notes at the end
		}
		switch f.cure {
		case "text":
			return !read // the survey shows the cells
		case "date-order":
			return l.order == "" // the survey shows the cells
		case "words":
			return 2*slices.Max(l.numbers) <= l.all // a table of texts
		}
		return f.Count > l.all // the first row differs
	})
}
