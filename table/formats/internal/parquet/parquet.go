// Package parquet reads Apache Parquet files for package table: pass [Format] in the
// options of a reader,
//
//	t, err := table.Read("data.parquet", table.Options{Formats: []table.Format{parquet.Format()}})
//
// It reads columns of numbers or bool as numbers and other columns as labels. Damaged
// files are errors, and a page gets no memory that its bytes and values cannot fill.
package parquet

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"gpfit/table"
	"gpfit/table/feature"
)

// Format returns the Parquet format for [table.Options].
func Format() table.Format { return table.Format{Name: "Parquet", Magic: magic, Open: open} }

// block is the number of rows that are decoded at a time.
const block = 1 << 10

// rows is a Parquet file of plain columns, read in blocks. It implements [table.FormatRows].
type rows struct {
	path    string
	columns []table.FormatColumn
	file    *os.File
	size    int64 // of the file
	meta    *format.FileMetaData
	groups  []parquet.RowGroup
	leaves  []*parquet.Column // the columns; nil for one that contains columns
	used    []column
	total   int64 // rows
	row     int64 // the current one, from 0; −1 before the first
	begin   int64 // the first row of the block
	length  int   // its rows
	group   int   // the next row group
	left    int64 // rows left in the previous one
}

// column is a column in use.
type column struct {
	index    int
	of       parquet.Type
	pages    parquet.Pages
	page     parquet.ValueReader        // of the current page; nil before the first
	values   []parquet.Value            // the block
	text     bool                       // whether labels are needed
	label    func(parquet.Value) string // the label of a date or time; else nil
	unsigned bool
	half     bool // numbers of 16 bits
}

// guard calls do, which may fail on a damaged file.
func (in *rows) guard(do func() error) error { return table.Guard(in.path, "Parquet", do) }

// open opens a file in this format.
func open(f *os.File, path string) (table.FormatRows, error) {
	in := &rows{path: path, file: f, row: -1}
	return in, in.open()
}

func (in *rows) open() error {
	info, err := in.file.Stat()
	if err != nil {
		return err
	}
	if err := checkFooter(in.file, info.Size()); err != nil {
		return err
	}
	pf, err := parquet.OpenFile(in.file, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	in.size, in.meta = info.Size(), pf.Metadata()
	in.groups, in.total = pf.RowGroups(), pf.NumRows()
	sum := int64(0)
	for _, g := range in.groups {
		if g.NumRows() < 0 {
			return errors.New("a row group has a negative number of rows")
		}
		sum += g.NumRows()
	}
	if sum != in.total {
		return fmt.Errorf("the row groups have %d rows, but the file has %d", sum, in.total)
	}
	for _, c := range pf.Root().Columns() {
		kind := kindOf(c)
		if in.half(c) {
			kind = feature.Number
		}
		in.columns = append(in.columns, table.FormatColumn{Name: c.Name(), Kind: kind})
		in.leaves = append(in.leaves, c)
	}
	return nil
}

func (in *rows) Columns() []table.FormatColumn { return in.columns }

func (in *rows) Use(columns []table.FormatUse) error {
	for _, u := range columns {
		leaf, why := in.leaves[u.Column], ""
		switch {
		case in.half(leaf):
		case u.Number:
			why = notNumeric(leaf)
		case !leaf.Leaf() || leaf.Repeated():
			why = "holds lists or structures, not labels"
		}
		if why != "" {
			return &table.Error{Source: in.path, Column: u.Column + 1, ColumnName: in.columns[u.Column].Name, Msg: why}
		}
		c := column{index: leaf.Index(), of: leaf.Type(), text: u.Label, unsigned: isUnsigned(leaf.Type()), half: in.half(leaf)}
		if u.Label {
			c.label = timeLabel(c.of)
		}
		in.used = append(in.used, c)
	}
	return nil
}

func isUnsigned(t parquet.Type) bool {
	if logical := t.LogicalType(); logical != nil {
		i, ok := logical.Value.(*format.IntType)
		return ok && !i.IsSigned
	}
	old := t.ConvertedType()
	return old != nil && deprecated.Uint8 <= *old && *old <= deprecated.Uint64
}

// half reports whether a column has floating-point numbers of 16 bits, a type that the library does
// not tell from other pairs of bytes.
func (in *rows) half(c *parquet.Column) bool {
	if !c.Leaf() || c.Repeated() || c.Type().Kind() != parquet.FixedLenByteArray || c.Type().Length() != 2 {
		return false
	}
	index := 0
	for i := range in.meta.Schema {
		e := &in.meta.Schema[i]
		if !e.Type.Valid {
			continue // it contains columns
		}
		if index == int(c.Index()) {
			_, ok := e.LogicalType.Value.(*format.Float16Type)
			return ok
		}
		index++
	}
	return false
}

// notNumeric returns why a column cannot be read as numbers, or "" if it can.
func notNumeric(c *parquet.Column) string {
	if !c.Leaf() || c.Repeated() {
		return "holds lists or structures, not numbers"
	}
	if t := c.Type().LogicalType(); t != nil && t.Value != nil {
		switch t.Value.(type) {
		case *format.IntType:
		case *format.DateType, *format.TimeType, *format.TimestampType:
			return "holds dates or times, not numbers"
		case *format.DecimalType:
			return "holds decimals; convert them to doubles"
		default:
			return "holds " + t.String() + " values, not numbers"
		}
	} else if old := c.Type().ConvertedType(); old != nil && (*old < deprecated.Uint8 || *old > deprecated.Int64) {
		return fmt.Sprintf("holds values of the converted type %d, not numbers", *old)
	}
	switch kind := c.Type().Kind(); kind {
	case parquet.Boolean, parquet.Int32, parquet.Int64, parquet.Float, parquet.Double:
		return ""
	default:
		return "holds " + kind.String() + " values, not numbers"
	}
}

func (in *rows) Next() error {
	if in.row+1 >= in.total {
		return io.EOF
	}
	in.row++
	if in.row < in.begin+int64(in.length) {
		return nil
	}
	return in.guard(in.load)
}

// load decodes the block that begins with the current row. A block does not extend
// beyond its row group.
func (in *rows) load() error {
	for in.left == 0 {
		if in.group == len(in.groups) {
			return errors.New("rows are missing at the end")
		}
		g := in.groups[in.group]
		if err := in.checkGroup(in.group); err != nil {
			return err
		}
		in.group++
		in.left = g.NumRows()
		chunks := g.ColumnChunks()
		for i := range in.used {
			u := &in.used[i]
			if u.pages != nil {
				u.pages.Close()
			}
			u.page, u.pages = nil, chunks[u.index].Pages()
		}
	}
	in.begin, in.length = in.row, int(min(in.left, block))
	in.left -= int64(in.length)
	for i := range in.used {
		if err := in.used[i].read(in.length); err != nil {
			return err
		}
	}
	return nil
}

// checkGroup checks the pages of a row group before they are read.
func (in *rows) checkGroup(i int) error {
	for _, u := range in.used {
		c := chunk{in.file, in.size, &in.meta.RowGroups[i].Columns[u.index].MetaData, in.groups[i].NumRows()}
		if err := c.check(); err != nil {
			return err
		}
	}
	return nil
}

// read reads the next n values, from one or more pages.
func (u *column) read(n int) error {
	if u.values == nil {
		u.values = make([]parquet.Value, block)
	}
	for have := 0; have < n; {
		if u.page == nil {
			page, err := u.pages.ReadPage()
			if err == io.EOF {
				return errors.New("a column ends too early")
			} else if err != nil {
				return err
			}
			u.page = page.Values()
		}
		k, err := u.page.ReadValues(u.values[have:n])
		if u.text {
			// A page's strings become invalid with the page.
			for i, v := range u.values[have : have+k] {
				u.values[have+i] = v.Clone()
			}
		}
		have += k
		switch {
		case err == io.EOF:
			u.page = nil
		case err != nil:
			return err
		case k == 0:
			return io.ErrNoProgress
		}
	}
	return nil
}

func (in *rows) value(c int) parquet.Value {
	return in.used[c].values[in.row-in.begin]
}

func (in *rows) Null(c int) bool { return in.value(c).IsNull() }

// Number rounds integers beyond 2⁵³, as parsing them from text would.
func (in *rows) Number(c int) float64 {
	v := in.value(c)
	switch unsigned := in.used[c].unsigned; v.Kind() {
	case parquet.Boolean:
		if v.Boolean() {
			return 1
		}
		return 0
	case parquet.Int32:
		if unsigned {
			return float64(v.Uint32())
		}
		return float64(v.Int32())
	case parquet.Int64:
		if unsigned {
			return float64(v.Uint64())
		}
		return float64(v.Int64())
	case parquet.Float:
		return float64(v.Float())
	case parquet.Double:
		return v.Double()
	case parquet.FixedLenByteArray:
		if in.used[c].half {
			return float64(float16.FromLEBytes(v.ByteArray()).Float32())
		}
	}
	return math.NaN()
}

func (in *rows) Label(c int) string {
	switch v, label := in.value(c), in.used[c].label; {
	case v.IsNull():
		return ""
	case label != nil:
		return label(v)
	case !in.used[c].half && (v.Kind() == parquet.ByteArray || v.Kind() == parquet.FixedLenByteArray):
		return string(v.ByteArray())
	}
	return ""
}

// Text implements [table.Texter]: integers in full, dates and times as ISO 8601 writes
// them, and strings as they are.
func (in *rows) Text(c int) string {
	v := in.value(c)
	if v.IsNull() {
		return ""
	}
	u := &in.used[c]
	switch kind := v.Kind(); {
	case u.label != nil:
		if t := u.of.LogicalType(); t != nil {
			if at, ok := t.Value.(*format.TimestampType); ok && at.IsAdjustedToUTC {
				return u.label(v) + "Z"
			}
		}
		return u.label(v)
	case kind == parquet.Int32 && u.unsigned:
		return strconv.FormatUint(uint64(v.Uint32()), 10)
	case kind == parquet.Int64 && u.unsigned:
		return strconv.FormatUint(v.Uint64(), 10)
	case kind == parquet.Double || u.half:
		return table.NumberText(in.Number(c))
	case kind == parquet.ByteArray || kind == parquet.FixedLenByteArray:
		return in.Label(c)
	}
	return v.String()
}

func (in *rows) Progress() float64 { return float64(in.row+1) / float64(max(in.total, 1)) }

func (in *rows) Close() error {
	for _, u := range in.used {
		if u.pages != nil {
			_ = in.guard(u.pages.Close)
		}
	}
	return in.file.Close()
}

// kindOf returns the kind of a column's values.
func kindOf(c *parquet.Column) feature.ColumnKind {
	if !c.Leaf() || c.Repeated() {
		return feature.Number // Use returns the error
	}
	t := c.Type()
	switch unit, clock := timeUnit(t); {
	case unit > 0 && clock:
		return feature.Clock
	case unit > 0:
		return feature.Date
	}
	switch t.Kind() {
	case parquet.Boolean:
		return feature.Boolean
	case parquet.ByteArray, parquet.FixedLenByteArray:
		if logical := t.LogicalType(); logical != nil && logical.Value != nil {
			switch logical.Value.(type) {
			case *format.StringType, *format.EnumType:
			default:
				return feature.Number
			}
		}
		return feature.Category
	}
	return feature.Number
}

// timeUnit returns the unit of a column of dates or times, 0 for other columns. clock says
// that they are times of day.
func timeUnit(t parquet.Type) (unit time.Duration, clock bool) {
	length := func(u format.TimeUnit) time.Duration {
		switch u.Value.(type) {
		case *format.MilliSeconds:
			return time.Millisecond
		case *format.MicroSeconds:
			return time.Microsecond
		}
		return time.Nanosecond
	}
	if logical := t.LogicalType(); logical != nil {
		switch of := logical.Value.(type) {
		case *format.DateType:
			return 24 * time.Hour, false
		case *format.TimestampType:
			return length(of.Unit), false
		case *format.TimeType:
			return length(of.Unit), true
		}
		return 0, false
	}
	if old := t.ConvertedType(); old != nil {
		switch *old {
		case deprecated.Date:
			return 24 * time.Hour, false
		case deprecated.TimestampMillis:
			return time.Millisecond, false
		case deprecated.TimestampMicros:
			return time.Microsecond, false
		case deprecated.TimeMillis:
			return time.Millisecond, true
		case deprecated.TimeMicros:
			return time.Microsecond, true
		}
	}
	return 0, false
}

// timeLabel returns how to write a date or time of the type, nil for other types.
func timeLabel(t parquet.Type) func(parquet.Value) string {
	unit, clock := timeUnit(t)
	if unit == 0 {
		return nil
	}
	form := "2006-01-02T15:04:05.999999999"
	if clock {
		form = "15:04:05.999999999"
	}
	return func(v parquet.Value) string {
		count := int64(v.Int32())
		if v.Kind() == parquet.Int64 {
			count = v.Int64()
		}
		if unit == 24*time.Hour {
			return time.Unix(count*86400, 0).UTC().Format("2006-01-02")
		}
		per := int64(time.Second / unit)
		// Truncating division and remainder have the same sign; time.Unix allows both.
		return time.Unix(count/per, count%per*int64(unit)).UTC().Format(form)
	}
}
