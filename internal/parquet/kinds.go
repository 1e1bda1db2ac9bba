package parquet

import (
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"gpfit/feature"
)

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
