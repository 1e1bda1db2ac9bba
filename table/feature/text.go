package feature

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Text says how a table writes its cells as text.
type Text struct {
	// Decimal is the decimal sign, "," or "."; empty means a point.
	Decimal string `json:"decimal,omitempty"`
	// Thousands is the sign between groups of three digits: ".", ",", "'" or "space", which is a blank of any width; empty means none.
	Thousands string `json:"thousands,omitempty"`
	// Units says that numbers may have a currency sign or a percent sign, which is left out.
	Units bool `json:"units,omitempty"`
	// TextEncoding is the name of the encoding; empty means UTF-8 or a byte order mark.
	TextEncoding string `json:"text_encoding,omitempty"`
}

// Or returns t with the values of another text where t has none.
func (t Text) Or(other Text) Text {
	if t.Decimal == "" {
		t.Decimal = other.Decimal
	}
	if t.Thousands == "" {
		t.Thousands = other.Thousands
	}
	if t.TextEncoding == "" {
		t.TextEncoding = other.TextEncoding
	}
	t.Units = t.Units || other.Units
	return t
}

// Check returns an error unless the signs are known and differ.
func (t Text) Check() error {
	switch {
	case t.Decimal != "" && t.Decimal != "." && t.Decimal != ",":
		return fmt.Errorf("the decimal sign %q is neither a point nor a comma", t.Decimal)
	case t.Thousands != "" && thousands[t.Thousands] == nil:
		return fmt.Errorf("the sign between thousands %q is none of . , ' and space", t.Thousands)
	case t.Thousands != "" && t.Thousands == t.point():
		return errors.New("the decimal sign and the sign between thousands are the same: option decimal and option thousands name two")
	}
	return nil
}

// thousands are the signs by their names.
var thousands = map[string][]string{".": {"."}, ",": {","}, "'": {"'", "’"}, "space": {" ", "\u00a0", "\u202f", "\u2009"}}

func (t Text) point() string {
	if t.Decimal == "" {
		return "."
	}
	return t.Decimal
}

// PlainNumbers reports whether numbers are written with a decimal point alone.
func (t Text) PlainNumbers() bool { return t.point() == "." && t.Thousands == "" && !t.Units }

// Texts returns all ways to write numbers, the plain one first and the simple ones before others.
func Texts() (all []Text) {
	for _, units := range []bool{false, true} {
		for _, group := range []string{"", ",", "'", "space", "."} {
			for _, decimal := range []string{"", ","} {
				if t := (Text{Decimal: decimal, Thousands: group, Units: units}); t.Check() == nil {
					all = append(all, t)
				}
			}
		}
	}
	return all
}

// Options names the options that read numbers so, "" for plain ones.
func (t Text) Options() string {
	var names []string
	if t.Decimal == "," {
		names = append(names, "option decimal ,")
	}
	if t.Thousands != "" {
		names = append(names, "option thousands "+t.Thousands)
	}
	if t.Units {
		names = append(names, "option strip-units")
	}
	return strings.Join(names, " with ")
}

// units are the signs that [Text.Units] leaves out.
var units = []string{"$", "€", "£", "¥", "₹", "%", "EUR", "USD", "GBP", "CHF"}

// Number returns the number in a cell with a decimal point and nothing else, or false if it is written otherwise.
func (t Text) Number(cell []byte) ([]byte, bool) {
	if t.Units {
		cell = withoutUnits(cell)
	}
	whole, rest := cell, []byte(nil)
	if i := bytes.IndexByte(cell, t.point()[0]); i >= 0 {
		whole, rest = cell[:i], append([]byte{'.'}, cell[i+1:]...)
	} else if i := bytes.IndexAny(cell, "eE"); i >= 0 {
		whole, rest = cell[:i], cell[i:]
	}
	if t.Thousands != "" {
		for _, sign := range thousands[t.Thousands] {
			whole = bytes.ReplaceAll(whole, []byte(sign), []byte{group})
		}
		if whole = ungrouped(whole); whole == nil {
			return nil, false
		}
	}
	if out := append(bytes.Clone(whole), rest...); bytes.Count(out, []byte{'.'}) == min(1, bytes.Count(rest, []byte{'.'})) {
		return out, true
	}
	return nil, false
}

// withoutUnits cuts signs off both ends of a number, and those between its sign and its digits. A minus behind a number, a dash as a
// minus, and brackets around a number mean that it is negative.
func withoutUnits(cell []byte) []byte {
	text := string(cell)
	sign := ""
	switch last := len(text) - 1; {
	case strings.HasPrefix(text, "−"):
		text = "-" + strings.TrimPrefix(text, "−")
	case last > 1 && text[0] == '(' && text[last] == ')':
		text = "-" + text[1:last]
	case last > 0 && text[last] == '-':
		text = "-" + text[:last]
	}
	if rest := strings.TrimLeft(text, "+-"); len(rest)+1 == len(text) {
		sign, text = text[:1], rest
	}
	for _, u := range units {
		text = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(text, u), u))
	}
	if strings.HasPrefix(text, "-") && sign == "" { // $-5
		return []byte(text)
	}
	return []byte(sign + text)
}

// group stands for the sign between groups of digits, whatever it is.
const group = 0

// ungrouped returns digits without the signs between groups of three, nil if the groups are others.
func ungrouped(whole []byte) []byte {
	groups := bytes.Split(whole, []byte{group})
	for i, g := range groups {
		first := bytes.TrimLeft(g, "+-")
		if len(groups) > 1 && (i == 0 && (len(first) < 1 || len(first) > 3 || first[0] == '0') || i > 0 && len(g) != 3) {
			return nil
		}
	}
	return bytes.Join(groups, nil)
}
