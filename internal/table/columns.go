package table

import (
	"fmt"
	"strconv"
	"strings"

	"gpfit/internal/suggest"
)

// targetColumn is the index of the target, -1 if there is none.
func (in *rows) targetColumn(opts Options) (int, error) {
	switch {
	case opts.NoTarget && opts.Target == "":
		return -1, nil
	case opts.NoTarget:
		c, found, err := in.byName("target", opts.Target)
		if !found {
			c = -1
		}
		return c, err
	case opts.Target == "":
		return len(in.names) - 1, nil
	}
	return in.column("target", opts.Target)
}

// featureColumns are the indices of the features, in the order asked for.
func (in *rows) featureColumns(opts Options, target int) ([]int, error) {
	var features []int
	if len(opts.Features) == 0 {
		for c := range in.names {
			if c != target {
				features = append(features, c)
			}
		}
		if len(features) == 0 {
			e := in.selectionError("no feature column: the only column is the target")
			return nil, e
		}
		return features, nil
	}
	seen := make(map[int]bool)
	for _, spec := range opts.Features {
		columns, err := in.columnsOf(spec)
		if err != nil {
			return nil, err
		}
		for _, c := range columns {
			msg := ""
			switch {
			case c == target:
				msg = fmt.Sprintf("the target is also listed as a feature (%s)", quote(spec))
			case seen[c]:
				msg = fmt.Sprintf("listed twice as a feature (again by %s)", quote(spec))
			}
			if msg != "" {
				e := in.errorAt(c, msg)
				e.Line = in.first
				return nil, e
			}
			seen[c] = true
			features = append(features, c)
		}
	}
	return features, nil
}

// columnsOf are the columns of one entry of Options.Features: a name, an index
// or a range of indices.
func (in *rows) columnsOf(spec string) ([]int, error) {
	if _, found, err := in.byName("feature", spec); !found && err == nil {
		if from, to, ok := parseRange(spec); ok {
			for _, end := range []int{from, to} {
				if _, err := in.byIndex("feature", spec, end); err != nil {
					return nil, err
				}
			}
			if from > to {
				return nil, in.selectionError(fmt.Sprintf("feature range %s runs backwards", quote(spec)))
			}
			columns := make([]int, 0, to-from+1)
			for c := from; c <= to; c++ {
				columns = append(columns, c)
			}
			return columns, nil
		}
	}
	c, err := in.column("feature", spec)
	return []int{c}, err
}

// parseRange reads "0-3".
func parseRange(spec string) (from, to int, ok bool) {
	a, b, ok := strings.Cut(spec, "-")
	if !ok {
		return 0, 0, false
	}
	low, err1 := strconv.ParseUint(a, 10, 31)
	high, err2 := strconv.ParseUint(b, 10, 31)
	return int(low), int(high), err1 == nil && err2 == nil
}

// column finds a column by its name or else its index. role is "target" or
// "feature".
func (in *rows) column(role, spec string) (int, error) {
	c, found, err := in.byName(role, spec)
	if found || err != nil {
		return c, err
	}
	if i, err := strconv.Atoi(spec); err == nil {
		return in.byIndex(role, spec, i)
	}
	msg := fmt.Sprintf("no column named %s for the %s", quote(spec), role)
	msg += suggest.DidYouMean(spec, in.names)
	if !in.header {
		msg += "; there is no header"
	}
	return 0, in.selectionError(msg + "; columns: " + in.columnList())
}

// byName finds the column of that name. Two of them are an error.
func (in *rows) byName(role, name string) (c int, found bool, err error) {
	for i, other := range in.names {
		switch {
		case other != name:
		case found:
			e := in.errorAt(i, fmt.Sprintf("the %s's name is that of column %d, too; select it by index", role, c+1))
			e.Line = in.first
			return 0, false, e
		default:
			c, found = i, true
		}
	}
	return c, found, nil
}

// byIndex checks an index, negative ones count from the end.
func (in *rows) byIndex(role, spec string, i int) (int, error) {
	n := len(in.names)
	if i < -n || i >= n {
		return 0, in.selectionError(fmt.Sprintf("%s column %s is out of range: there are %s, 0 to %d",
			role, spec, count(n, "column"), n-1))
	}
	if i < 0 {
		i += n
	}
	return i, nil
}

// selectionError is an error in Options that only the file shows.
func (in *rows) selectionError(msg string) *Error {
	return &Error{Source: in.scan.source, Line: in.first, Msg: msg}
}

// columnList names the columns of the file, the first twenty if there are more.
func (in *rows) columnList() string {
	const most = 20
	shown := in.names[:min(most, len(in.names))]
	quoted := make([]string, len(shown))
	for i, name := range shown {
		quoted[i] = quote(name)
	}
	list := strings.Join(quoted, ", ")
	if more := len(in.names) - len(shown); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
