package table

import "fmt"

// ParseHeader returns the mode named auto (or empty), yes or no.
func ParseHeader(text string) (HeaderMode, error) {
	switch text {
	case "", "auto":
		return HeaderAuto, nil
	case "yes":
		return HeaderYes, nil
	case "no":
		return HeaderNo, nil
	}
	return HeaderAuto, fmt.Errorf("header %q: must be auto, yes or no", text)
}

// ParseDecimal returns the decimal sign: a point (or empty) or a comma.
func ParseDecimal(text string) (rune, error) {
	switch text {
	case "", ".":
		return '.', nil
	case ",":
		return ',', nil
	}
	return '.', fmt.Errorf("decimal sign %q: must be . or ,", text)
}
