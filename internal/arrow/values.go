package arrow

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"gpfit/feature"
)

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
		*arrow.Float16Type, *arrow.Float32Type, *arrow.Float64Type,
		*arrow.Decimal32Type, *arrow.Decimal64Type, *arrow.Decimal128Type, *arrow.Decimal256Type:
		return true
	}
	return false
}

// hasLabel reports whether values of a type have a text.
func hasLabel(t arrow.DataType) bool { return isNumber(t) || kindOf(t) != feature.Number }

// valueOf returns row i of a column whose type has a text. Integers beyond 2⁵³ are
// rounded, as parsing them from text would.
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
	return strings.TrimSpace(strings.ToValidUTF8(strings.Clone(text), "\uFFFD")), true
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
