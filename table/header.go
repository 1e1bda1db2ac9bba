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
