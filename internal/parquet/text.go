package parquet

import (
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"gpfit/table"
)

// Text implements [table.Texter]: integers in full, dates and times as ISO 8601 writes
// them, and strings as they are.
func (in *rows) Text(c int) string {
	v := in.value(c)
	if v.IsNull() {
		return ""
	}
	if t := in.leaves[c].Type().LogicalType(); t != nil {
		if at, ok := timeOf(v, t.Value); ok {
			return at
		}
	}
	unsigned := in.used[in.at[c]].unsigned
	switch {
	case v.Kind() == parquet.Boolean:
		return strconv.FormatBool(v.Boolean())
	case v.Kind() == parquet.Int32 && unsigned:
		return strconv.FormatUint(uint64(v.Uint32()), 10)
	case v.Kind() == parquet.Int64 && unsigned:
		return strconv.FormatUint(v.Uint64(), 10)
	case v.Kind() == parquet.Int32:
		return strconv.FormatInt(int64(v.Int32()), 10)
	case v.Kind() == parquet.Int64:
		return strconv.FormatInt(v.Int64(), 10)
	case v.Kind() == parquet.Float:
		return strconv.FormatFloat(float64(v.Float()), 'g', -1, 32)
	case v.Kind() == parquet.Double:
		return table.NumberText(v.Double())
	}
	return in.Label(c)
}

// timeOf returns the text of a date or time of a logical type.
func timeOf(v parquet.Value, logical any) (string, bool) {
	switch t := logical.(type) {
	case *format.DateType:
		return time.Unix(86400*int64(v.Int32()), 0).UTC().Format(time.DateOnly), true
	case *format.TimestampType:
		at := v.Int64()
		when := time.UnixMilli(at)
		switch t.Unit.Value.(type) {
		case *format.MicroSeconds:
			when = time.UnixMicro(at)
		case *format.NanoSeconds:
			when = time.Unix(at/1e9, at%1e9)
		}
		layout := "2006-01-02T15:04:05.999999999"
		if t.IsAdjustedToUTC {
			layout += "Z07:00"
		}
		return when.UTC().Format(layout), true
	}
	return "", false
}
