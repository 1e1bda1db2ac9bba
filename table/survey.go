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
	// Gap says that values are missing. index is the column, cure the option that accepts it, or "".
	Gap   bool
	index int
	cure  string
}

// Error returns the fault with the number of rows.
func (f *Fault) Error() string {
	if f.Count < 2 {
		return f.First.Error()
	}
	return fmt.Sprintf("%v; so in %d rows", f.First, f.Count)
}

// surveyPasses is the largest number of times that [Survey] reads a table.
const surveyPasses = 8

// Survey reads the table at path as [Read] does, and finds all its faults. fixed are the options with which Read accepts the
// table: they exclude columns that identify rows or lack more than half of their values, read columns of numbers and texts
// as categories, drop rows with missing values, and take the last column of numbers as the target. err says what else is wrong.
func Survey(path string, opts Options) (faults []Fault, fixed Options, err error) {
	fixed, fixed.Columns = opts, &feature.Rules{}
	if opts.Columns != nil {
		*fixed.Columns = *opts.Columns
	}
	for pass := range surveyPasses {
		r, err := open(path, fixed)
		if err != nil {
			return faults, fixed, err
		}
		found, err := r.survey(opts.Columns)
		r.Close()
		if pass == 0 {
			faults = found
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

// survey reads all rows and returns the faults of each column. Columns that the rules asked do not name as categories may not
// identify rows.
func (r *Reader) survey(asked *feature.Rules) ([]Fault, error) {
	t, found := r.newTable(), map[[2]int]*Fault{}
	note := func(c int, gap bool, e func() *Error) {
		key := [2]int{c, 0}
		if gap {
			key[1] = 1
		}
		if found[key] == nil {
			found[key] = &Fault{First: e(), Gap: gap, index: c}
		}
		found[key].Count++
	}
	for {
		err := r.src.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		r.rows++
		r.take(t)
		for i, f := range r.faults {
			if c := r.sel.features[i]; f != nil {
				note(c, f.gap, func() *Error {
					if f.msg != "" {
						return r.src.errorAt(c, f.msg)
					}
					return r.src.badCell(c)
				})
			}
		}
		for _, c := range r.numeric {
			if _, ok := r.src.number(c); !ok {
				note(c, r.src.missing(c), func() *Error { return r.src.badCell(c) })
			}
		}
		t.truncate(0)
	}
	for i, c := range r.sel.features {
		if l, ok := r.cells[i].(*learnedCells); ok && l.kind == feature.Category && !l.booleans && found[[2]int{c, 0}] == nil {
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
		all = append(all, *f)
	}
	slices.SortFunc(all, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.index, b.index), strings.Compare(a.First.Msg, b.First.Msg))
	})
	return all, nil
}

// cure returns the option that accepts a fault.
func (r *Reader) cure(f *Fault) string {
	i := slices.Index(r.sel.features, f.index)
	switch {
	case i < 0 && f.Gap && 2*f.Count <= r.rows:
		return "missing"
	case i < 0:
		return "target"
	case f.Gap && 2*f.Count <= r.rows:
		return "missing"
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
		case f.cure == "missing" && !out[f.index] && o.Missing == MissingError, f.cure == "missing" && !out[f.index] && o.Missing == "":
			o.Missing, changed = MissingDrop, true
		case f.cure == "target" && o.Target == "" && 2*f.Count > r.rows: // a few bad cells are to be mended
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

// IsTableError reports whether an error is one of a table's contents, which [Survey] may explain.
func IsTableError(err error) bool {
	var e *Error
	return errors.As(err, &e) && !e.TooLarge && e.Err == nil
}
