package table

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gpfit/internal/each"
	"gpfit/internal/matrixrows"
	"gpfit/internal/suggest"
	"gpfit/internal/textform"
)

// head describes the beginning of a table in any format. Columns count from 0.
type head struct {
	source string
	names  []string // of all columns; x0, x1, … if the file has none
	named  bool     // the file names its columns
	first  int      // the line of the first row, header or data; 0 if the format has no lines
	aside  []bool   // columns that are used only if selected; nil if there are none
	blank  []bool   // columns without a name in the header; nil if there are none
	at     int      // the line or, in formats without lines, the row of the current row
	empty  string   // the error for a table without rows
	warn   []string
}

func (in *head) begun() *head { return in }

func (in *head) place() int { return in.at }

func (in *head) errorAt(c int, msg string) *Error {
	e := in.headError(c, msg)
	if in.first == 0 {
		e.Row = in.at
	} else {
		e.Line = in.at
	}
	return e
}

func (in *head) noRows() *Error { return in.selectionError(in.empty) }

func (in *head) warnings() []string { return in.warn }

func (in *head) skipped() (comments, blanks int) { return 0, 0 }

// selection holds the uses of the columns of a table.
type selection struct {
	target          int // -1 if there is none
	targets         []int
	features        []int
	extra, extraStr []int
	keep            []int
}

// choose finds the columns that opts selects.
func (in *head) choose(opts Options) (selection, error) {
	var s selection
	out, err := in.excluded(opts)
	if err != nil {
		return s, err
	}
	if s.target, err = in.targetColumn(opts, out); err != nil {
		return s, err
	}
	other := make(map[int]bool)
	for _, list := range []struct {
		role  string
		specs []string
		into  *[]int
	}{{"target", opts.Targets, &s.targets}, {"extra", opts.Extra, &s.extra}, {"extra", opts.ExtraText, &s.extraStr}} {
		for _, spec := range list.specs {
			c, err := in.column(list.role, spec)
			switch {
			case err != nil:
				return s, err
			case list.role == "target" && other[c]:
				return s, in.headError(c, "listed twice as a target (again by "+quote(spec)+")")
			case list.role == "extra" && (c == s.target || slices.Contains(s.targets, c)):
				return s, in.headError(c, quote(spec)+" is selected for another use, but is also the target; name another column as the target")
			}
			other[c] = true
			*list.into = append(*list.into, c)
		}
	}
	for _, spec := range opts.Keep {
		c, err := in.column("extra", spec)
		if err != nil {
			return s, err
		}
		s.keep = append(s.keep, c)
	}
	if s.features, err = in.featureColumns(opts, s.target, other, out); err != nil {
		return s, err
	}
	for _, c := range s.targets {
		if slices.Contains(s.features, c) {
			return s, in.headError(c, "a target is also listed as a feature")
		}
	}
	if opts.Encoding != nil {
		return s, nil // the names are the encoding's
	}
	return s, in.distinct(slices.Concat(s.features, s.numeric(), s.extraStr))
}

// distinct returns an error if two of the columns have one name.
func (in *head) distinct(columns []int) error {
	seen := make(map[string]int, len(columns))
	for _, c := range slices.Sorted(slices.Values(columns)) {
		if other, twice := seen[in.names[c]]; twice && other != c {
			return in.headError(c, fmt.Sprintf("shares its name with column %d: rename one of them, or leave one out by its index (option exclude %d or %d)", other+1, other, c))
		}
		seen[in.names[c]] = c
	}
	return nil
}

// excluded returns which columns Options.Exclude lists.
func (in *head) excluded(opts Options) (map[int]bool, error) {
	out := make(map[int]bool)
	for _, spec := range opts.Exclude {
		columns, err := in.columnsOf("excluded", spec)
		if err != nil {
			return nil, err
		}
		for _, c := range columns {
			out[c] = true
		}
	}
	return out, nil
}

// numeric returns the columns besides the features whose numbers are needed, each once.
func (s *selection) numeric() []int {
	var all []int
	seen := map[int]bool{}
	for _, list := range [][]int{{s.target}, s.targets, s.extra} {
		for _, c := range list {
			if c >= 0 && !seen[c] {
				all, seen[c] = append(all, c), true
			}
		}
	}
	return all
}

// targetColumn returns the index of the target, or -1 if there is none. By default it is the
// last column that is not excluded.
func (in *head) targetColumn(opts Options, out map[int]bool) (int, error) {
	switch {
	case len(opts.Targets) > 0:
		if opts.Target != "" || opts.NoTarget {
			return -1, in.selectionError("several targets cannot be combined with a single target or none")
		}
		return -1, nil
	case opts.NoTarget && opts.Target == "":
		return -1, nil
	case opts.NoTarget:
		c, found, err := in.byName("target", opts.Target)
		if !found {
			c = -1
		}
		return c, err
	case opts.Target == "":
		c := len(in.names) - 1
		for c > 0 && (out[c] || in.aside != nil && in.aside[c]) {
			c--
		}
		return c, nil
	}
	c, err := in.column("target", opts.Target)
	if err == nil && out[c] {
		err = in.headError(c, "option exclude names the target")
	}
	return c, err
}

// featureColumns returns the indices of the features in the selected order. Columns
// in other are features only if they are listed. Columns in out are not.
func (in *head) featureColumns(opts Options, target int, other, out map[int]bool) ([]int, error) {
	var features []int
	if len(opts.Features) == 0 {
		for c := range in.names {
			if c != target && !other[c] && !out[c] && (in.aside == nil || !in.aside[c]) {
				features = append(features, c)
			}
		}
		switch {
		case len(features) > 0:
			return features, nil
		case len(in.names) == 1:
			return nil, in.selectionError("no feature column: the only column is the target")
		}
		return nil, in.selectionError("no feature column: every column has another use")
	}
	seen := make(map[int]bool)
	for _, spec := range opts.Features {
		columns, err := in.columnsOf("feature", spec)
		if _, found, _ := in.byName("feature", spec); opts.ByName && !found && err == nil {
			err = in.noName("feature", spec)
		}
		if e, ok := errors.AsType[*Error](err); ok && opts.ByName {
			e.Msg += "; option features names the columns in the order of the model"
		}
		if err != nil {
			return nil, err
		}
		for _, c := range columns {
			switch {
			case c == target:
				return nil, in.headError(c, fmt.Sprintf("the target is also listed as a feature (%s)", quote(spec)))
			case seen[c]:
				return nil, in.headError(c, fmt.Sprintf("listed twice as a feature (again by %s)", quote(spec)))
			}
			seen[c] = true
			features = append(features, c)
		}
	}
	return features, nil
}

// columnsOf returns the columns of one entry of Options.Features or Options.Exclude: a name, an
// index or a range of indices.
func (in *head) columnsOf(role, spec string) ([]int, error) {
	if _, found, err := in.byName(role, spec); !found && err == nil {
		if from, to, ok := parseRange(spec); ok {
			for _, end := range []int{from, to} {
				if _, err := in.byIndex(role, spec, end); err != nil {
					return nil, err
				}
			}
			if from > to {
				return nil, in.selectionError(fmt.Sprintf("%s range %s runs backwards", role, quote(spec)))
			}
			return matrixrows.All(to + 1)[from:], nil
		}
	}
	c, err := in.column(role, spec)
	return []int{c}, err
}

// parseRange parses a range such as "0-3".
func parseRange(spec string) (from, to int, ok bool) {
	a, b, ok := strings.Cut(spec, "-")
	if !ok {
		return 0, 0, false
	}
	low, err1 := strconv.ParseUint(a, 10, 31)
	high, err2 := strconv.ParseUint(b, 10, 31)
	return int(low), int(high), err1 == nil && err2 == nil
}

// column finds a column by its name or else its index. role is "target",
// "feature", "excluded", "mask" or "extra".
func (in *head) column(role, spec string) (int, error) {
	c, found, err := in.byName(role, spec)
	if found || err != nil {
		return c, err
	}
	if i, err := strconv.Atoi(spec); err == nil {
		return in.byIndex(role, spec, i)
	}
	return 0, in.noName(role, spec)
}

// noName returns the error for a selected name that no column has.
func (in *head) noName(role, spec string) error {
	msg := "no column named " + quote(spec)
	switch role {
	case "extra":
	case "excluded":
		msg += " to exclude"
	default:
		msg += " for the " + role
	}
	msg += suggest.DidYouMean(spec, in.names)
	if !in.named {
		msg += "; there is no header"
	}
	return in.noColumn(spec, msg+"; columns: "+columnList(in.names))
}

// byName finds the column of that name. Two such columns are an error.
func (in *head) byName(role, name string) (c int, found bool, err error) {
	for i, other := range in.names {
		switch {
		case other != name:
		case found:
			return 0, false, in.headError(i, fmt.Sprintf("the %s column shares its name with column %d; select it by index", role, c+1))
		default:
			c, found = i, true
		}
	}
	return c, found, nil
}

// byIndex checks an index. Negative indices count from the end.
func (in *head) byIndex(role, spec string, i int) (int, error) {
	n := len(in.names)
	if i < -n || i >= n {
		return 0, in.noColumn(spec, fmt.Sprintf("%s column %s is out of range: there are %s, 0 to %d",
			role, spec, textform.Counted(n, "column"), n-1))
	}
	if i < 0 {
		i += n
	}
	return i, nil
}

// headError returns an error in the name or use of column c.
func (in *head) headError(c int, msg string) *Error {
	e := &Error{Source: in.source, Line: in.first, Column: c + 1, Msg: msg}
	if in.named && c < len(in.names) {
		e.ColumnName = in.names[c]
	}
	return e
}

// selectionError returns an error in Options that only the file reveals.
func (in *head) selectionError(msg string) *Error {
	return &Error{Source: in.source, Line: in.first, Msg: msg}
}

// noColumn returns the error for a selected column that is not there.
func (in *head) noColumn(spec, msg string) *Error {
	e := in.selectionError(msg)
	e.Selected = spec
	return e
}

// columnList lists the names of the first twenty columns and counts the rest.
func columnList(names []string) string {
	const most = 20
	shown := names[:min(most, len(names))]
	quoted := each.Of(shown, quote)
	list := strings.Join(quoted, ", ")
	if more := len(names) - len(shown); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
