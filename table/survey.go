package table

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gpfit/table/feature"
)

// Fault describes a mistake in a column of a training table.
type Fault struct {
	First *Error // its first cell, or the column
	Count int    // of the rows
	// Gap says that values are missing, Row that no option accepts the rows. index is the column, cure the option that accepts it, or "".
	Gap, Row bool
	index    int
	cure     string
	lines    []int // of the rows that no option accepts
}

// Error returns the fault with the number of rows.
func (f *Fault) Error() string {
	if f.Count < 2 {
		return f.First.Error()
	}
	return fmt.Sprintf("%v; so in %d rows", f.First, f.Count)
}

// Survey reads the table at path as [Read] does, and finds all its faults. fixed are the options with which Read accepts the table
// once the rows that no option accepts are changed. They read decimal commas, exclude columns that identify rows or lack more than
// half of their values, make categories of numbers and texts, drop rows with missing values, and take the last column of numbers as
// the target. err says what else is wrong.
func Survey(path string, opts Options) (faults []Fault, fixed Options, err error) {
	fixed, fixed.Columns = opts, &feature.Rules{}
	if opts.Columns != nil {
		*fixed.Columns = *opts.Columns
	}
	if faults, err = rowFaults(path, &fixed); err != nil {
		return nil, fixed, err
	}
	for pass := range 8 { // a cure may show further faults
		r, err := open(path, fixed)
		if err != nil {
			return faults, fixed, err
		}
		found, err := r.survey(opts.Columns)
		r.Close()
		if pass == 0 {
			faults = append(faults, found...)
		}
		if err != nil {
			return faults, fixed, err
		}
		if !r.repair(found, &fixed) {
			break
		}
	}
	_, err = Read(path, fixed)
	return faults, fixed, err
}

// rowFaults returns the faults of a text that concern rows as a whole, which o then skips, and of its numbers and dates, which o then
// reads.
func rowFaults(path string, o *Options) (faults []Fault, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.skip == nil {
		o.skip = map[int]bool{}
	}
	src, err := openPath(path, *o)
	if err != nil {
		return nil, err
	}
	defer src.close()
	of := src
	if packed, ok := src.(*member); ok {
		of = packed.source
	}
	in, ok := of.(*rows)
	if !ok {
		return nil, nil
	}
	l := newLook(in)
	for {
		err := in.next()
		if e, ok := errors.AsType[*Error](err); ok && e.ragged {
			l.note(fmt.Sprint(len(in.cells)), e, in.scan.start)
			if len(in.cells) < len(in.names) {
				l.tail = append(l.tail, in.scan.start)
			}
			continue
		}
		if err != nil { // an error of the rows: the survey meets it again
			break
		}
		l.row()
	}
	if title := l.title(); title != nil && len(o.skip) < mostTitles {
		o.leaveOut(*title)
		more, err := rowFaults(path, o)
		return append([]Fault{*title}, more...), err
	}
	faults = l.faults()
	for _, f := range faults {
		switch f.cure {
		case "text":
			o.Text.Decimal, o.Text.Thousands, o.Text.Units = l.as.Decimal, l.as.Thousands, l.as.Units
		case "date-order":
			o.Columns.Order = l.order
		default:
			o.leaveOut(f)
		}
	}
	return faults, nil
}

// leaveOut skips the lines of a fault, by an option unless they are to be mended.
func (o *Options) leaveOut(f Fault) {
	for _, line := range f.lines {
		if o.skip[line] = true; f.Row {
			continue
		}
		if o.SkipLines != "" {
			o.SkipLines += ","
		}
		o.SkipLines += strconv.Itoa(line)
	}
}

// mostTitles bounds the lines above a header that a survey takes for titles.
const mostTitles = 20

// survey returns the faults of each column. Columns that the rules asked do not name as categories may not identify rows.
func (r *Reader) survey(asked *feature.Rules) ([]Fault, error) {
	t, found := r.newTable(), map[[2]int]*Fault{}
	note := func(c int, gap bool, msg string) *Fault {
		key := [2]int{c, map[bool]int{true: 1}[gap]}
		if found[key] == nil {
			found[key] = &Fault{First: r.why(c, msg), Gap: gap, index: c}
		}
		found[key].Count++
		return found[key]
	}
	var err error
	for err = r.src.next(); err == nil; err = r.src.next() {
		r.rows++
		r.take(t)
		for i, f := range r.faults {
			if c := r.sel.features[i]; f != nil {
				note(c, f.gap, f.msg)
			}
		}
		for _, c := range r.numeric {
			if _, ok := r.src.number(c); !ok {
				f := note(c, r.src.missing(c), "")
				f.lines = append(f.lines, r.src.place())
			}
		}
		t.truncate(0)
	}
	for i, c := range r.sel.features {
		if l, ok := r.cells[i].(*learnedCells); ok && err == io.EOF && l.kind == feature.Category && !l.booleans && found[[2]int{c, 0}] == nil {
			rows := r.rows
			if gap := found[[2]int{c, 1}]; gap != nil {
				rows -= gap.Count
			}
			if asked == nil || !slices.Contains(asked.Categories, r.specOf(c)) {
				l.asked = ""
			}
			if msg := l.identifies(len(l.labels), rows); msg != "" {
				found[[2]int{c, 0}] = &Fault{First: r.src.begun().headError(c, msg), Count: 1, index: c, cure: "exclude"}
			}
		}
	}
	var all []Fault
	for _, f := range found {
		f.cure = cmp.Or(f.cure, r.cure(f))
		f.Row = f.cure == "target" && (r.opts.Target != "" || 2*f.Count <= r.rows) // a few bad cells are to be mended
		all = append(all, *f)
	}
	slices.SortFunc(all, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.index, b.index), strings.Compare(a.First.Msg, b.First.Msg))
	})
	if err == io.EOF {
		err = nil
	}
	return all, err
}

// cure returns the option that accepts a fault.
func (r *Reader) cure(f *Fault) string {
	i := slices.Index(r.sel.features, f.index)
	switch {
	case f.Gap && 2*f.Count <= r.rows:
		return "missing"
	case i < 0:
		return "target"
	case f.Gap:
		return "exclude"
	}
	if l, ok := r.cells[i].(*learnedCells); ok && l.asked == "" {
		return "categories"
	}
	return "exclude"
}

// repair changes the options so that they accept the faults, and reports whether they changed.
func (r *Reader) repair(faults []Fault, o *Options) bool {
	changed := false
	add := func(list *[]string, c int) {
		if spec := r.specOf(c); !slices.Contains(*list, spec) {
			*list, changed = append(slices.Clip(*list), spec), true
		}
	}
	out := map[int]bool{}
	for _, f := range faults {
		if out[f.index] = out[f.index] || f.cure == "exclude"; f.cure == "exclude" {
			o.Columns.Categories = slices.DeleteFunc(slices.Clone(o.Columns.Categories), func(s string) bool { return s == r.specOf(f.index) })
			add(&o.Exclude, f.index)
		}
	}
	for _, f := range faults {
		switch {
		case f.cure == "categories" && !out[f.index]:
			add(&o.Columns.Categories, f.index)
		case f.cure == "missing" && !out[f.index] && o.Missing == MissingError:
			o.Missing, changed = MissingDrop, true
		case f.Row:
			for _, line := range f.lines {
				o.skip[line], changed = true, changed || !o.skip[line]
			}
		case f.cure == "target":
			if c := r.lastNumber(faults); c >= 0 {
				o.Target, changed = r.specOf(c), true
			}
		}
	}
	return changed
}

// lastNumber returns the last feature of numbers that has a name and no faults other than gaps, -1 if there is none.
func (r *Reader) lastNumber(faults []Fault) int {
	blank := r.src.begun().blank
	for i, c := range slices.Backward(r.sel.features) {
		if c < len(blank) && blank[c] {
			continue
		}
		l, ok := r.cells[i].(*learnedCells)
		if ok && l.kind == feature.Number && !slices.ContainsFunc(faults, func(f Fault) bool { return f.index == c && f.cure != "missing" }) {
			return c
		}
	}
	return -1
}

// specOf returns the name of a column for an option, or its index if the name cannot stand there.
func (r *Reader) specOf(c int) string {
	name := r.src.begun().names[c]
	if _, _, err := r.src.begun().byName("feature", name); err != nil || strings.TrimSpace(name) != name || strings.ContainsAny(name, ",\"'\n\\") || name == "" {
		return strconv.Itoa(c)
	}
	return name
}
