// Package arrow reads files and streams of Arrow IPC for package table, .arrow, .arrows and .feather of version 2.
// Pass [Format] in the options of a reader:
//
//	t, err := table.Read("data.feather", table.Options{Formats: []table.Format{arrow.Format()}})
//
// It reads numbers, decimals and bool as numbers, durations as seconds, and texts, dates and times as labels,
// also if they are encoded by a dictionary. Damaged files are errors, and a batch gets no
// memory that the file cannot fill.
package arrow

import (
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"gpfit/table"
	"gpfit/table/feature"
)

// Format returns the Arrow format for [table.Options].
func Format() table.Format {
	return table.Format{Name: "Arrow", Magics: []string{magic, streamMagic}, Open: open}
}

// rows is an Arrow file, read batch by batch. It implements [table.FormatRows].
type rows struct {
	path    string
	columns []table.FormatColumn
	file    *os.File
	memory  *allocator
	in      batches
	schema  *arrow.Schema
	used    []int // the columns in use
	batch   arrow.RecordBatch
	read    int // batches read
	row     int // the current row of the batch
	values  []value
}

// guard calls do, which may fail on a damaged file.
func (in *rows) guard(do func() error) error { return table.Guard(in.path, "Arrow", do) }

// open opens a file in this format.
func open(f *os.File, path string) (table.FormatRows, error) {
	in := &rows{path: path, file: f}
	return in, in.open()
}

func (in *rows) open() error {
	info, err := in.file.Stat()
	if err != nil {
		return err
	}
	in.memory = newAllocator(info.Size())
	begin := make([]byte, len(streamMagic))
	if _, err := in.file.ReadAt(begin, 0); err != nil {
		return err
	}
	open := openFile
	if string(begin) == streamMagic {
		open = openStream
	}
	if in.in, in.schema, err = open(in.file, info.Size(), in.memory); err != nil {
		return err
	}
	in.columns = columnsOf(in.schema)
	return nil
}

func (in *rows) Columns() []table.FormatColumn { return in.columns }

func (in *rows) Use(columns []table.FormatUse) error {
	for _, u := range columns {
		t, want := in.schema.Field(u.Column).Type, ""
		switch {
		case u.Number && !isNumber(t):
			want = "numbers"
		case u.Label && !isNumber(t) && kindOf(t) == feature.Number:
			want = "labels"
		}
		if want != "" {
			return &table.Error{Source: in.path, Column: u.Column + 1, ColumnName: in.columns[u.Column].Name, Msg: fmt.Sprintf("holds %s values, not %s: leave it out, or write it as text or numbers", t, want)}
		}
		in.used = append(in.used, u.Column)
	}
	in.values = make([]value, len(in.used))
	return nil
}

func (in *rows) Next() error {
	in.row++
	for in.batch == nil || int64(in.row) >= in.batch.NumRows() {
		if in.read == in.in.count() {
			return io.EOF
		}
		if err := in.guard(in.load); err != nil {
			return err
		}
	}
	return in.guard(in.decode)
}

// load reads the next batch.
func (in *rows) load() error {
	if in.batch != nil {
		in.batch.Release()
		in.batch = nil
	}
	in.memory.used = 0
	batch, err := in.in.at(in.read)
	if err != nil {
		return err
	}
	in.batch, in.row = batch, 0
	in.read++
	for _, c := range in.used {
		if n := int64(batch.Column(c).Len()); n != batch.NumRows() {
			return fmt.Errorf("column %d of a batch has %d rows, not %d", c+1, n, batch.NumRows())
		}
	}
	return nil
}

// decode decodes the current row.
func (in *rows) decode() error {
	for i, c := range in.used {
		in.values[i] = valueOf(in.batch.Column(c), in.row)
	}
	return nil
}

func (in *rows) Null(c int) bool { return in.values[c].null }

func (in *rows) Number(c int) float64 { return in.values[c].number }

func (in *rows) Label(c int) string { return in.values[c].label }

// Text implements [table.Texter]: integers in full.
func (in *rows) Text(c int) string {
	v := in.values[c]
	if v.null || v.label != "" {
		return v.label
	}
	a, i := in.batch.Column(in.used[c]), in.row
	if d, ok := a.(*array.Dictionary); ok {
		a, i = d.Dictionary(), d.GetValueIndex(i)
	}
	switch a.(type) {
	case *array.Int64, *array.Uint64:
		return a.ValueStr(i)
	}
	return table.NumberText(v.number)
}

func (in *rows) Progress() float64 {
	if in.batch == nil {
		return 0
	}
	part := float64(in.row+1) / float64(in.batch.NumRows())
	return (float64(in.read-1) + part) / float64(in.in.count())
}

func (in *rows) Close() error {
	if in.batch != nil {
		in.batch.Release()
	}
	in.in.close()
	return in.file.Close()
}

// kindOf returns the kind of a type's values.
func kindOf(t arrow.DataType) feature.ColumnKind {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return kindOf(t.ValueType)
	case *arrow.BooleanType:
		return feature.Boolean
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		return feature.Category
	case *arrow.Date32Type, *arrow.Date64Type, *arrow.TimestampType:
		return feature.Date
	case *arrow.Time32Type, *arrow.Time64Type:
		return feature.Clock
	}
	return feature.Number
}

// isNumber reports whether values of a type are numbers or bool.
func isNumber(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return isNumber(t.ValueType)
	case *arrow.BooleanType, *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type,
		*arrow.Uint8Type, *arrow.Uint16Type, *arrow.Uint32Type, *arrow.Uint64Type,
		*arrow.Float16Type, *arrow.Float32Type, *arrow.Float64Type, *arrow.DurationType,
		*arrow.Decimal32Type, *arrow.Decimal64Type, *arrow.Decimal128Type, *arrow.Decimal256Type:
		return true
	}
	return false
}

// valueOf returns row i of a column whose type has a text. It rounds integers beyond 2⁵³, of which Text has all digits.
func valueOf(a arrow.Array, i int) value {
	if a.IsNull(i) {
		return value{null: true, number: math.NaN()}
	}
	if d, ok := a.(*array.Dictionary); ok {
		return valueOf(d.Dictionary(), d.GetValueIndex(i))
	}
	if text, ok := textOf(a, i); ok {
		return value{number: math.NaN(), label: text}
	}
	return value{number: numberOf(a, i)}
}

// textOf returns row i of a column of texts, dates or times.
func textOf(a arrow.Array, i int) (text string, ok bool) {
	const clock = "15:04:05.999999999"
	switch a := a.(type) {
	case *array.String:
		text = a.Value(i)
	case *array.LargeString:
		text = a.Value(i)
	case *array.StringView:
		text = a.Value(i)
	case *array.Date32:
		return a.Value(i).ToTime().Format(time.DateOnly), true
	case *array.Date64:
		return a.Value(i).ToTime().Format(time.DateOnly), true
	case *array.Timestamp:
		return a.Value(i).ToTime(a.DataType().(*arrow.TimestampType).Unit).Format("2006-01-02T" + clock), true
	case *array.Time32:
		return a.Value(i).ToTime(a.DataType().(*arrow.Time32Type).Unit).Format(clock), true
	case *array.Time64:
		return a.Value(i).ToTime(a.DataType().(*arrow.Time64Type).Unit).Format(clock), true
	default:
		return "", false
	}
	return strings.Clone(text), true
}

// numberOf returns row i of a column of numbers.
func numberOf(a arrow.Array, i int) float64 {
	switch a := a.(type) {
	case *array.Boolean:
		if a.Value(i) {
			return 1
		}
		return 0
	case *array.Int8:
		return float64(a.Value(i))
	case *array.Int16:
		return float64(a.Value(i))
	case *array.Int32:
		return float64(a.Value(i))
	case *array.Int64:
		return float64(a.Value(i))
	case *array.Uint8:
		return float64(a.Value(i))
	case *array.Uint16:
		return float64(a.Value(i))
	case *array.Uint32:
		return float64(a.Value(i))
	case *array.Uint64:
		return float64(a.Value(i))
	case *array.Float16:
		return float64(a.Value(i).Float32())
	case *array.Float32:
		return float64(a.Value(i))
	case *array.Float64:
		return a.Value(i)
	case *array.Duration:
		return SecondsOf(a.DataType().(*arrow.DurationType).Unit, int64(a.Value(i)))
	}
	return decimalOf(a, i)
}

// decimalOf returns row i of a column of decimals.
func decimalOf(a arrow.Array, i int) float64 {
	scale := a.DataType().(arrow.DecimalType).GetScale()
	var text string
	switch a := a.(type) {
	case *array.Decimal32:
		text = a.Value(i).ToString(scale)
	case *array.Decimal64:
		text = a.Value(i).ToString(scale)
	case *array.Decimal128:
		text = a.Value(i).ToString(scale)
	case *array.Decimal256:
		text = a.Value(i).ToString(scale)
	default:
		panic(fmt.Sprintf("values of the type %s", a.DataType()))
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// value is the value of a column in the current row.
type value struct {
	null   bool
	number float64 // NaN if the value is not a number
	label  string
}
