package table

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"strconv"
	"strings"

	"github.com/sbinet/npyio/npy"

	"gpfit/internal/hostmem"
	"gpfit/internal/textform"
	"gpfit/table/feature"
)

const (
	npyMagic = "\x93NUMPY"
	// maxColumns limits the memory that the names of columns take.
	maxColumns = 1 << 20
)

// array is a NumPy array of one or two dimensions, read once from beginning to end in
// blocks of rows.
type array struct {
	name       string // name in an archive, else ""
	rows, cols int
	fortran    bool // stored column by column
	size       int  // bytes of an element
	whole      bool // of integers
	decode     func([]byte) float64
	r          io.Reader   // from the first element on
	at         io.ReaderAt // the elements, for fortran
	used       []bool      // the selected columns; nil if there are none
	raw        []byte
	block      []float64 // rows×cols, or cols×rows if fortran
	length     int       // rows of the block
}

// openArray reads the header of an array from r, which has size bytes in all. Its
// errors have no place yet.
func openArray(r io.Reader, size int64) (*array, error) {
	header, err := npyHeader(r, size)
	if err != nil {
		return nil, err
	}
	h, err := parseHeader(header)
	if err != nil {
		return nil, err
	}
	a := &array{rows: 1, cols: 1, fortran: h.Descr.Fortran, r: r}
	switch shape := h.Descr.Shape; len(shape) {
	case 2:
		a.rows, a.cols = shape[0], shape[1]
	case 1:
		a.rows, a.fortran = shape[0], false
	default:
		return nil, fmt.Errorf("the array has %s, not one or two", textform.Counted(len(shape), "dimension"))
	}
	if a.size, a.decode = elementType(h.Descr.Type); a.decode == nil {
		return nil, fmt.Errorf("the elements have type %s; gpfit reads only real numbers: save them as float64, or the columns of a table by numpy.savez", quote(h.Descr.Type))
	}
	a.whole = strings.ContainsAny(h.Descr.Type, "iu")
	if a.cols > maxColumns {
		return nil, fmt.Errorf("the array has %d columns; gpfit reads at most %d", a.cols, maxColumns)
	}
	if a.rows < 0 || a.cols < 1 {
		return nil, fmt.Errorf("the array has the invalid shape %v", h.Descr.Shape)
	}
	has := size - int64(len(header))
	if need := float64(a.rows) * float64(a.cols) * float64(a.size); need > math.MaxInt64/2 || int64(need) != has {
		return nil, fmt.Errorf("the array has %d bytes of elements, but its shape %v needs %.0f", has, h.Descr.Shape, need)
	}
	return a, nil
}

// npyHeader reads the bytes before the elements.
func npyHeader(r io.Reader, size int64) ([]byte, error) {
	const most = 1 << 16 // most headers have some hundred bytes
	start := make([]byte, 12)
	n, err := io.ReadFull(r, start[:10])
	if err != nil || !bytes.HasPrefix(start, []byte(npyMagic)) {
		return nil, errors.New("the NumPy header is missing")
	}
	length := int64(binary.LittleEndian.Uint16(start[8:]))
	if start[6] > 1 {
		if _, err := io.ReadFull(r, start[10:]); err != nil {
			return nil, errors.New("the NumPy header is cut short")
		}
		n, length = 12, int64(binary.LittleEndian.Uint32(start[8:]))
	}
	if length > min(most, size-int64(n)) {
		return nil, errors.New("the NumPy header is longer than 64 KiB or than the file")
	}
	header := make([]byte, int64(n)+length)
	copy(header, start)
	if _, err := io.ReadFull(r, header[n:]); err != nil {
		return nil, errors.New("the NumPy header is cut short")
	}
	return header, nil
}

// parseHeader parses a header. npyio panics on some damaged headers.
func parseHeader(header []byte) (h npy.Header, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the NumPy header is damaged")
		}
	}()
	r, err := npy.NewReader(bytes.NewReader(header))
	if err != nil {
		return h, fmt.Errorf("the NumPy header cannot be read: %w", err)
	}
	return r.Header, nil
}

// elementType returns the size of an element of NumPy's type descr and a function
// that converts one to a number, a whole number that float64 does not hold to an infinite one. decode is nil if the type is not a real number.
func elementType(descr string) (size int, decode func([]byte) float64) {
	var order binary.ByteOrder = binary.LittleEndian
	kind := strings.TrimLeft(descr, "<=|")
	if strings.HasPrefix(descr, ">") {
		order, kind = binary.BigEndian, descr[1:]
	}
	switch kind {
	case "f8":
		return 8, func(b []byte) float64 { return math.Float64frombits(order.Uint64(b)) }
	case "f4":
		return 4, func(b []byte) float64 { return float64(math.Float32frombits(order.Uint32(b))) }
	case "f2":
		return 2, func(b []byte) float64 { return half(order.Uint16(b)) }
	case "i8":
		return 8, func(b []byte) float64 { return unrounded(int64(order.Uint64(b))) }
	case "i4":
		return 4, func(b []byte) float64 { return float64(int32(order.Uint32(b))) }
	case "i2":
		return 2, func(b []byte) float64 { return float64(int16(order.Uint16(b))) }
	case "i1":
		return 1, func(b []byte) float64 { return float64(int8(b[0])) }
	case "u8":
		return 8, func(b []byte) float64 { return unrounded(order.Uint64(b)) }
	case "u4":
		return 4, func(b []byte) float64 { return float64(order.Uint32(b)) }
	case "u2":
		return 2, func(b []byte) float64 { return float64(order.Uint16(b)) }
	case "u1", "b1":
		return 1, func(b []byte) float64 { return float64(b[0]) }
	}
	return 0, nil
}

// unrounded returns a whole number, an infinite one if it would be rounded.
func unrounded[T int64 | uint64](n T) float64 {
	v := float64(n)
	if math.Abs(v) < 1<<53 {
		return v
	}
	if exact, _ := big.NewFloat(v).Int(nil); exact.String() == fmt.Sprint(n) {
		return v
	}
	return math.Inf(1)
}

// half returns a number of 16 bits: a sign, five bits of the exponent and ten of the fraction (IEEE 754-2019, binary16).
func half(bits uint16) float64 {
	sign, exponent, fraction := 1-2*float64(bits>>15), int(bits>>10&31), float64(bits&1023)
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		if fraction > 0 {
			return math.NaN()
		}
		return sign * math.Inf(1)
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

// load reads n rows from row start on. They must follow the rows loaded last.
func (a *array) load(start, n int) error {
	a.length = n
	if a.used == nil {
		return nil
	}
	if len(a.block) < n*a.cols {
		a.block = make([]float64, n*a.cols)
	}
	if !a.fortran {
		return a.fill(a.r, a.block[:n*a.cols])
	}
	for j, used := range a.used {
		if !used {
			continue
		}
		from := (int64(j)*int64(a.rows) + int64(start)) * int64(a.size)
		column := io.NewSectionReader(a.at, from, int64(n)*int64(a.size))
		if err := a.fill(column, a.block[j*n:(j+1)*n]); err != nil {
			return err
		}
	}
	return nil
}

// fill reads len(dst) elements from r.
func (a *array) fill(r io.Reader, dst []float64) error {
	bytes := len(dst) * a.size
	if cap(a.raw) < bytes {
		a.raw = make([]byte, bytes)
	}
	raw := a.raw[:bytes]
	if _, err := io.ReadFull(r, raw); err != nil {
		return err
	}
	for i := range dst {
		dst[i] = a.decode(raw[i*a.size:])
		if a.whole && math.IsInf(dst[i], 0) {
			return errors.New("it has whole numbers of more digits than a 64-bit float; store such names as texts, or leave them out")
		}
	}
	return nil
}

// value returns the element in row i of the block and column j.
func (a *array) value(i, j int) float64 {
	if a.fortran {
		return a.block[j*a.length+i]
	}
	return a.block[i*a.cols+j]
}

// atEnd checks that the data end after the last element. An archive's checksum
// follows the last byte.
func (a *array) atEnd() error {
	if a.used == nil || a.fortran {
		return nil
	}
	switch n, err := a.r.Read(make([]byte, 1)); {
	case err == io.EOF:
		return nil
	case err != nil:
		return err
	default:
		return fmt.Errorf("%d byte too many", n)
	}
}

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
		// A compressed array stored by columns must be read whole before its first row.
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
	e := &Error{Source: in.source, Msg: "cannot be read: " + err.Error(), Err: err}
	if a.name != "" {
		e.Msg = "array " + quote(a.name) + ": " + e.Msg
	}
	return e
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
