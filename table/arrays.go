package table

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"

	"gpfit/feature"
	"gpfit/internal/hostmem"
)

// arrays is a table of NumPy arrays with the same number of rows, side by side.
type arrays struct {
	head
	parts   []*array
	columns []arrayColumn
	rows    int
	row     int // the current one, from 0; −1 before the first
	begin   int // the first row of the block
	length  int // its rows
	files   []io.Closer
}

// arrayColumn is column j of an array.
type arrayColumn struct {
	of *array
	j  int
}

// openNPY opens a file that holds one array. On an error it closes f.
func openNPY(f *os.File, path string) (source, error) {
	fail := func(err error) (source, error) {
		f.Close()
		return nil, &Error{Source: path, Msg: err.Error(), Err: err}
	}
	info, err := f.Stat()
	if err != nil {
		return fail(err)
	}
	a, err := openArray(f, info.Size())
	if err != nil {
		return fail(err)
	}
	begin, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return fail(err)
	}
	a.at = io.NewSectionReader(f, begin, info.Size()-begin)
	in := newArrays(path, []*array{a})
	in.files = append(in.files, f)
	return in, nil
}

// newArrays joins the columns of parts side by side, with the names x0, x1, …. There
// must be at least one part, and all must have the same number of rows.
func newArrays(path string, parts []*array) *arrays {
	in := &arrays{head: head{source: path}, parts: parts, rows: parts[0].rows, row: -1}
	for _, a := range parts {
		for j := range a.cols {
			in.names = append(in.names, fmt.Sprintf("x%d", len(in.columns)))
			in.columns = append(in.columns, arrayColumn{a, j})
		}
	}
	return in
}

func (in *arrays) begun() *head { return &in.head }

func (in *arrays) use(numbers, labels []int) error {
	for _, list := range [][]int{numbers, labels} {
		for _, c := range list {
			col := in.columns[c]
			if col.of.used == nil {
				col.of.used = make([]bool, col.of.cols)
			}
			col.of.used[col.j] = true
		}
	}
	for _, a := range in.parts {
		if a.used == nil || !a.fortran || a.at != nil {
			continue
		}
		// A compressed array stored by columns must be read whole before its first
		// row.
		size := int64(a.rows) * int64(a.cols) * int64(a.size)
		if free := hostmem.Free(); free > 0 && size > free {
			return tooLarge(in.source, size, free)
		}
		all := make([]byte, size)
		if _, err := io.ReadFull(a.r, all); err != nil {
			return in.damaged(a, err)
		}
		a.at = bytes.NewReader(all)
	}
	return nil
}

func (in *arrays) next() error {
	in.row++
	if in.row >= in.rows {
		in.row = in.rows
		for _, a := range in.parts {
			if err := a.atEnd(); err != nil {
				return in.damaged(a, err)
			}
		}
		return io.EOF
	}
	if in.row < in.begin+in.length {
		return nil
	}
	// A block has about 256 KiB if its elements are read once.
	in.begin, in.length = in.row, min(max(1, 1<<15/len(in.columns)), in.rows-in.row)
	for _, a := range in.parts {
		if err := a.load(in.begin, in.length); err != nil {
			return in.damaged(a, err)
		}
	}
	return nil
}

// damaged returns the error for an array whose elements cannot be read.
func (in *arrays) damaged(a *array, err error) error {
	return &Error{Source: in.source, Msg: a.prefix() + "cannot be read: " + err.Error(), Err: err}
}

// prefix returns the name of an array in an archive, for messages.
func (a *array) prefix() string {
	if a.name == "" {
		return ""
	}
	return "array " + quote(a.name) + ": "
}

func (in *arrays) value(c int) float64 {
	col := in.columns[c]
	return col.of.value(in.row-in.begin, col.j)
}

func (in *arrays) kind(int) feature.ColumnKind { return feature.Number }

func (in *arrays) number(c int) (float64, bool) {
	v := in.value(c)
	return v, !math.IsNaN(v) && !math.IsInf(v, 0)
}

func (in *arrays) label(c int) string {
	if in.missing(c) {
		return ""
	}
	return strconv.FormatFloat(in.value(c), 'g', -1, 64)
}

func (in *arrays) missing(c int) bool { return math.IsNaN(in.value(c)) }

func (in *arrays) place() int { return in.row + 1 }

func (in *arrays) errorAt(c int, msg string) *Error {
	e := in.headError(c, msg)
	e.Row = in.row + 1
	return e
}

func (in *arrays) badCell(c int) *Error {
	return in.errorAt(c, fmt.Sprintf("not a finite number: %v", in.value(c)))
}

func (in *arrays) noRows() *Error {
	return &Error{Source: in.source, Msg: "the array has no rows"}
}

func (in *arrays) progress() float64 { return float64(in.row+1) / float64(in.rows) }

func (in *arrays) warnings() []string { return nil }

func (in *arrays) close() error {
	var first error
	for _, f := range in.files {
		if err := f.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
