package parquet

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"gpfit/table/feature"
	"gpfit/table/formats/internal/arrow"
)

// numberOf returns how to read a column of decimals, durations or numbers of 16 bits; nil for others.
func (in *rows) numberOf(c *parquet.Column) func(parquet.Value) float64 {
	if !c.Leaf() || c.Repeated() {
		return nil
	}
	if unit, ok := in.spans[c.Name()]; ok && c.Type().Kind() == parquet.Int64 {
		return func(v parquet.Value) float64 { return arrow.SecondsOf(unit, v.Int64()) }
	}
	if in.half(c) {
		return func(v parquet.Value) float64 { return float64(float16.FromLEBytes(v.ByteArray()).Float32()) }
	}
	if t := c.Type().LogicalType(); t != nil {
		if of, ok := t.Value.(*format.DecimalType); ok {
			return func(v parquet.Value) float64 { return decimal(v, of.Scale) }
		}
	}
	return nil
}

// decimal returns a decimal of a scale: a whole number in 32 or 64 bits, or in bytes in two's complement, the highest one first.
func decimal(v parquet.Value, scale int32) float64 {
	whole := new(big.Int)
	switch v.Kind() {
	case parquet.Int32:
		whole.SetInt64(int64(v.Int32()))
	case parquet.Int64:
		whole.SetInt64(v.Int64())
	default:
		b := v.ByteArray()
		whole.SetBytes(b)
		if len(b) > 0 && b[0] >= 0x80 {
			whole.Sub(whole, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
	}
	x, err := strconv.ParseFloat(fmt.Sprintf("%de-%d", whole, scale), 64)
	if err != nil {
		return math.NaN()
	}
	return x
}

// oldTimestamp writes a timestamp of 96 bits, as Spark and Impala store them: the nanoseconds of a day and its Julian number.
func oldTimestamp(v parquet.Value) string {
	const epoch = 2440588 // 1970-01-01
	i := v.Int96()
	nanos := int64(i[0]) | int64(i[1])<<32
	return time.Unix((int64(i[2])-epoch)*86400, nanos).UTC().Format(timestamp)
}

// timestamp is the form of dates with a time.
const timestamp = "2006-01-02T15:04:05.999999999"

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
			return "holds dates or times, not numbers: write durations as numbers of seconds"
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

// kindOf returns the kind of a column's values.
func kindOf(c *parquet.Column) feature.ColumnKind {
	if !c.Leaf() || c.Repeated() {
		return feature.Number // Use returns the error
	}
	t := c.Type()
	if t.Kind() == parquet.Int96 {
		return feature.Date
	}
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
	if t.Kind() == parquet.Int96 {
		return oldTimestamp
	}
	unit, clock := timeUnit(t)
	if unit == 0 {
		return nil
	}
	form := timestamp
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
