package table

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"

	"gpfit/feature"
)

// pandasIndex matches the names under which pandas stores an index.
var pandasIndex = regexp.MustCompile(`^__index_level_\d+__$`)

// PandasIndex reports whether a column holds the index of a table of pandas, which is
// aside, with the warning that says so.
func PandasIndex(name string) (aside bool, warning string) {
	return pandasIndex.MatchString(name), "column " + quote(name) + " is the index of a pandas table; it is an input only if you name it"
}

// formatted is the source for FormatRows of another package. It numbers the rows.
type formatted struct {
	head
	rows   FormatRows
	format string
	row    int
	kinds  []feature.ColumnKind
}

// openFormatted opens a file of a caller's format. On an error it closes f.
func openFormatted(f *os.File, path string, format Format) (source, error) {
	rows, err := format.Open(f, path)
	if err != nil {
		f.Close()
		return nil, err
	}
	in := &formatted{head: head{source: path, named: true}, rows: rows, format: format.Name}
	for _, c := range rows.Columns() {
		in.names, in.aside = append(in.names, c.Name), append(in.aside, c.Aside)
		in.kinds = append(in.kinds, cmp.Or(c.Kind, feature.Number))
	}
	return in, nil
}

func (in *formatted) begun() *head { return &in.head }

func (in *formatted) use(numbers, labels []int) error { return in.rows.Use(numbers, labels) }

func (in *formatted) next() error {
	err := in.rows.Next()
	if err == nil {
		in.row++
	}
	return err
}

func (in *formatted) kind(c int) feature.ColumnKind { return in.kinds[c] }

func (in *formatted) number(c int) (float64, bool) { return in.rows.Number(c) }

func (in *formatted) label(c int) string { return in.rows.Label(c) }

func (in *formatted) missing(c int) bool { return in.rows.Missing(c) }

func (in *formatted) place() int { return in.row }

func (in *formatted) errorAt(c int, msg string) *Error {
	e := in.headError(c, msg)
	e.Row = in.row
	return e
}

func (in *formatted) badCell(c int) *Error { return in.errorAt(c, in.rows.Problem(c)) }

func (in *formatted) noRows() *Error {
	return &Error{Source: in.source, Msg: fmt.Sprintf("the %s file has no rows", in.format)}
}

func (in *formatted) progress() float64 { return in.rows.Progress() }

func (in *formatted) warnings() []string { return in.rows.Warnings() }

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
	var e *Error
	if err != nil && !errors.As(err, &e) {
		return damaged(err)
	}
	return err
}
