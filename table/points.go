package table

import (
	"bytes"
	"fmt"
)

// points says how the numbers of a column use the point, as far as it may separate thousands.
type points struct {
	grouped, whole string // the first number such as 2.491, and the first such as 531
	groups         int    // numbers such as 2.491
	other          bool   // another number shows that it is the decimal point
}

// look looks at a number.
func (p *points) look(cell []byte) {
	digits := bytes.TrimLeft(cell, "+-")
	at := bytes.IndexByte(digits, '.')
	switch {
	case at < 0 && len(digits) <= 3 && len(bytes.Trim(digits, "0123456789")) == 0:
		if p.whole == "" {
			p.whole = string(cell)
		}
	case 1 <= at && at <= 3 && len(digits) == at+4 && digits[0] != '0':
		if p.groups++; p.grouped == "" {
			p.grouped = string(cell)
		}
	default:
		p.other = true
	}
}

// warnOfPoints warns at the end of columns in which a number has either three digits behind its point, or three and no point. A
// writer of decimals gives all numbers a point, or leaves out zeros at their ends. Two such numbers may be eighths.
func (in *rows) warnOfPoints() {
	for c, p := range in.points {
		if !p.other && p.groups > 2 && p.whole != "" {
			in.warn = append(in.warn, fmt.Sprintf("column %s has numbers such as %s and %s, read with a decimal point: if the point separates thousands, give option thousands .", quote(in.names[c]), p.grouped, p.whole))
		}
	}
	in.points = nil
}
