package table

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"gpfit/table/feature"
)

// pandasIndex matches the names under which pandas stores an index.
var pandasIndex = regexp.MustCompile(`^__index_level_\d+__$`)

// formatted is the source for FormatRows of another package. It numbers the rows.
type formatted struct {
	head
	rows  FormatRows
	kinds []feature.ColumnKind
	used  map[int]int // for each column in use its place among them
	texts []int       // the columns of texts that are read as such
}

// opener opens the files of a format, which it recognizes by their first bytes.
type opener struct {
	name   string
	magics []string
	open   func(f *os.File, path string) (source, error)
}

// opener is the opener of a format of another package.
func (format Format) opener() opener {
	return opener{format.Name, format.Magics, func(f *os.File, path string) (source, error) {
		var rows FormatRows
		if err := Guard(path, format.Name, func() (err error) {
			rows, err = format.Open(f, path)
			return err
		}); err != nil {
			return nil, err
		} else if len(rows.Columns()) == 0 {
			return nil, &Error{Source: path, Msg: "the " + format.Name + " file has no columns"}
		}
		in := &formatted{head: head{source: path, named: true, empty: "the " + format.Name + " file has no rows"}, rows: rows, used: map[int]int{}}
		for _, c := range rows.Columns() {
			name := c.Name
			if !utf8.ValidString(name) {
				return nil, &Error{Source: path, Column: len(in.names) + 1, Msg: "the name of the column: " + notUTF8([]byte(name)) + ": write the file again with names in UTF-8"}
			}
			index := c.Index || pandasIndex.MatchString(name)
			in.names, in.aside = append(in.names, name), append(in.aside, index)
			in.kinds = append(in.kinds, cmp.Or(c.Kind, feature.Number))
			if index {
				in.warn = append(in.warn, "column "+quote(name)+" is the index of a pandas table; it is an input only if you name it")
			}
			if c.Note != "" {
				in.warn = append(in.warn, "column "+quote(name)+" "+c.Note)
			}
		}
		return in, nil
	}}
}

func (in *formatted) use(numbers, labels []int) error {
	var used []FormatUse
	for i, c := range slices.Concat(numbers, labels) {
		if _, twice := in.used[c]; !twice {
			in.used[c] = len(used)
			used = append(used, FormatUse{Column: c})
		}
		if u := &used[in.used[c]]; i < len(numbers) {
			u.Number = true
		} else {
			u.Label = true
			if in.kinds[c] == feature.Category && !slices.Contains(in.texts, c) {
				in.texts = append(in.texts, c)
			}
		}
	}
	return in.rows.Use(used)
}

func (in *formatted) next() error {
	if err := in.rows.Next(); err != nil {
		return err
	}
	in.at++
	for _, c := range in.texts {
		if text := in.rows.Label(in.used[c]); !utf8.ValidString(text) {
			return in.errorAt(c, notUTF8([]byte(text))+": write the file again with texts in UTF-8")
		}
	}
	return nil
}

func (in *formatted) kind(c int) feature.ColumnKind { return in.kinds[c] }

func (in *formatted) number(c int) (float64, bool) {
	v := in.rows.Number(in.used[c])
	return v, v-v == 0 && in.merged(c, v) == ""
}

// merged returns the digits of a whole number v that float64 does not hold, "" for others.
func (in *formatted) merged(c int, v float64) string {
	if math.Abs(v) < 1<<53 {
		return ""
	}
	t, ok := in.rows.(Texter)
	if !ok {
		return ""
	}
	if text := t.Text(in.used[c]); merges(v, []byte(text)) {
		return text
	}
	return ""
}

func (in *formatted) label(c int) string {
	if kind := in.kinds[c]; kind == feature.Number || kind == feature.Boolean {
		if v := in.rows.Number(in.used[c]); v == v {
			return cmp.Or(in.merged(c, v), strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
	return in.rows.Label(in.used[c])
}

func (in *formatted) missing(c int) bool { return in.rows.Null(in.used[c]) || in.label(c) == "" }

func (in *formatted) text(c int) string {
	if t, ok := in.rows.(Texter); ok {
		return t.Text(in.used[c])
	}
	return in.label(c)
}

func (in *formatted) badCell(c int) *Error {
	switch kind := in.kinds[c]; {
	case in.rows.Null(in.used[c]):
		return in.errorAt(c, "missing value: null")
	case kind == feature.Number || kind == feature.Boolean:
		v := in.rows.Number(in.used[c])
		if text := in.merged(c, v); text != "" {
			return in.errorAt(c, tooManyDigits(text))
		}
		return in.errorAt(c, fmt.Sprintf("not a finite number: %v", v))
	}
	return in.errorAt(c, "empty cell")
}

func (in *formatted) progress() float64 { return in.rows.Progress() }

func (in *formatted) close() error { return in.rows.Close() }

// Guard calls do, which reads a file at source, and converts its errors and panics to an
// [*Error] that calls the file damaged. It returns an [*Error] as it is. Libraries of
// some formats panic on damaged files. format is the name of the format.
func Guard(source, format string, do func() error) (err error) {
	damaged := func(cause error) error {
		return &Error{Source: source, Msg: "the " + format + " file is damaged: " + cause.Error(), Err: cause}
	}
	defer func() {
		switch p := recover().(type) {
		case nil:
		case error:
			err = damaged(p)
		default:
			err = damaged(fmt.Errorf("%v", p))
		}
	}()
	err = do()
	if _, known := errors.AsType[*Error](err); err != nil && !known {
		return damaged(err)
	}
	return err
}

// source is an open table in any format, read row by row. Columns count from 0.
type source interface {
	// begun returns what is known before the first row.
	begun() *head
	// use selects, before the first row, the columns to read as numbers and the
	// columns to read as labels.
	use(numbers, labels []int) error
	// next moves to the next row. It returns io.EOF after the last one.
	next() error
	// kind returns the kind of the value in column c by its type, Category for a text;
	// empty for text files, whose cells have no types.
	kind(c int) feature.ColumnKind
	// number returns the value in column c and whether it is a finite number.
	number(c int) (float64, bool)
	// label returns the value in column c as text, "" if it is missing.
	label(c int) string
	// text returns the value in column c as it stands in the file, or in its usual
	// decimal form, for Options.Keep; "" if it is missing. Labels of numbers have a form
	// that old models refer to.
	text(c int) string
	// missing reports whether the value in column c is missing, as opposed to wrong.
	missing(c int) bool
	// place returns the line of the current row, or the number of the row, from 1, in
	// formats without lines.
	place() int
	// errorAt returns an error in column c of the current row.
	errorAt(c int, msg string) *Error
	// badCell returns the error for the value in column c, which is not a finite
	// number or is a missing label.
	badCell(c int) *Error
	// noRows returns the error for a table without rows.
	noRows() *Error
	// progress returns the share of the input that has been read, 0 if unknown.
	progress() float64
	warnings() []string
	// skipped returns the numbers of the lines so far that are no rows.
	skipped() (comments, blanks int)
	close() error
}
