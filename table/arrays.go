package table

import (
	"bytes"
	"cmp"
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
	begin   int // the first row of the block, from 0
	length  int // its rows
	files   []io.Closer
}

// arrayColumn is column j of an array.
type arrayColumn struct {
	of *array
	j  int
}

// openNPY opens a file that holds one array.
func openNPY(f *os.File, path string) (source, error) {
	a, err := arrayFile(f)
	if err != nil {
		return nil, &Error{Source: path, Msg: err.Error(), Err: err}
	}
	in := newArrays(path, []*array{a})
	in.files = append(in.files, f)
	return in, nil
}

func arrayFile(f *os.File) (*array, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	a, err := openArray(f, info.Size())
	if err != nil {
		return nil, err
	}
	begin, err := f.Seek(0, io.SeekCurrent)
	a.at = io.NewSectionReader(f, begin, info.Size()-begin)
	return a, err
}

// newArrays joins the columns of parts side by side, with the names x0, x1, …. There
// must be at least one part, and all must have the same number of rows.
func newArrays(path string, parts []*array) *arrays {
	in := &arrays{head: head{source: path, empty: "the array has no rows"}, parts: parts, rows: parts[0].rows}
	for _, a := range parts {
		for j := range a.cols {
			in.names = append(in.names, fmt.Sprintf("x%d", len(in.columns)))
			in.columns = append(in.columns, arrayColumn{a, j})
		}
	}
	return in
}

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
	if in.at == in.rows {
		for _, a := range in.parts {
			if err := a.atEnd(); err != nil {
				return in.damaged(a, err)
			}
		}
		return io.EOF
	}
	in.at++
	if in.at <= in.begin+in.length {
		return nil
	}
	// A block has about 256 KiB if its elements are read once.
	in.begin = in.at - 1
	in.length = min(max(1, 1<<15/len(in.columns)), in.rows-in.begin)
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
	return col.of.value(in.at-1-in.begin, col.j)
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

func (in *arrays) text(c int) string {
	if in.missing(c) {
		return ""
	}
	return NumberText(in.value(c))
}

func (in *arrays) badCell(c int) *Error {
	return in.errorAt(c, fmt.Sprintf("not a finite number: %v", in.value(c)))
}

func (in *arrays) progress() float64 { return float64(in.at) / float64(in.rows) }

func (in *arrays) close() error {
	var err error
	for _, f := range in.files {
		err = cmp.Or(err, f.Close())
	}
	return err
}
