package feature

import (
	"strconv"
	"testing"
)

// TestTextNumber reads numbers in other ways to write them.
func TestTextNumber(t *testing.T) {
	for _, c := range []struct {
		text Text
		cell string
		want float64 // −1 for none
	}{
		{Text{Decimal: ","}, "-1,5e3", -1500}, {Text{Decimal: ","}, "1.5", -1}, {Text{Decimal: ","}, "1,5,6", -1},
		{Text{Thousands: ","}, "1,234,567.25", 1234567.25}, {Text{Thousands: ","}, "12.5", 12.5}, {Text{Thousands: ","}, "1234,567", -1}, {Text{Thousands: ","}, "1,23", -1}, {Text{Thousands: ","}, ",123", -1}, {Text{Thousands: ","}, "0,123", -1},
		{Text{Thousands: ",", Decimal: "."}, "-1,234e2", -123400}, {Text{Thousands: ","}, "1.234,5", -1},
		{Text{Thousands: ".", Decimal: ","}, "1.234.567,25", 1234567.25}, {Text{Thousands: ".", Decimal: ","}, "1.5", -1},
		{Text{Thousands: "'"}, "1’234.5", 1234.5}, {Text{Thousands: "space", Decimal: ","}, "1\u00a0234\u202f567,5", 1234567.5},
		{Text{Units: true}, "$ 12.50", 12.5}, {Text{Units: true}, "-€5", -5}, {Text{Units: true}, "$-5", -5}, {Text{Units: true}, "7.5 %", 7.5}, {Text{Units: true, Thousands: ","}, "$1,000", 1000},
		{Text{Units: true, Thousands: ","}, "(1,234.5)", -1234.5}, {Text{Units: true}, "($5)", -5}, {Text{Units: true}, "2.5-", -2.5}, {Text{Units: true}, "−3", -3}, {Text{Units: true}, "7 EUR", 7},
		{Text{Units: true}, "(-3)", -1}, {Text{Units: true}, "-3-", -1}, {Text{Units: true}, "-", -1}, {Text{}, "(3)", -1},
	} {
		got := -1.0
		if number, ok := c.text.Number([]byte(c.cell)); ok {
			if v, err := strconv.ParseFloat(string(number), 64); err == nil {
				got = v
			}
		}
		if got != c.want {
			t.Errorf("%q by %v: %v, want %v", c.cell, c.text.Options(), got, c.want)
		}
	}
	for _, bad := range []Text{{Decimal: ";"}, {Thousands: "x"}, {Thousands: "."}, {Thousands: ",", Decimal: ","}} {
		if bad.Check() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// TestDateOrder reads dates whose order only an option says.
func TestDateOrder(t *testing.T) {
	for _, c := range []struct {
		order DateOrder
		text  string
		want  float64 // −1 for none
	}{
		{DayFirst, "02/01/1970", 1}, {DayFirst, "31-1-1970 12:00", 30.5}, {DayFirst, "1/13/1970", -1}, {DayFirst, "02/01/70", 1}, {DayFirst, "02.01.70 12:00", 1.5}, {MonthFirst, "01/02/1970 06:00 pm", 1.75},
		{MonthFirst, "02/01/1970", 31}, {MonthFirst, "1/31/1970", 30}, {MonthFirst, "31/1/1970", -1}, {MonthFirst, "1970-01-03", 2},
		{"", "02/01/1970", -1},
	} {
		e, err := (&Coding{Name: "d", Kind: Date, Unit: Days, Origin: DefaultOrigin, Order: c.order}).Encoder()
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.Value(c.text)
		if err != nil {
			got = -1
		}
		if got != c.want {
			t.Errorf("%q by %q: %v, want %v", c.text, c.order, got, c.want)
		}
	}
	if (&Coding{Name: "d", Kind: Date, Unit: Days, Origin: DefaultOrigin, Order: "ymd"}).check() == nil {
		t.Error("the order ymd is accepted")
	}
}
