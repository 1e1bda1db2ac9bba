package textform

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Size is the size of a picture in centimetres; the zero value chooses.
type Size struct{ Width, Height float64 }

// The smallest and the largest side of a picture, in centimetres.
const (
	smallestSide, largestSide = 3, 200
)

var sizeForm = regexp.MustCompile(`^([0-9.]+)\s*[x×X]\s*([0-9.]+)\s*(cm|mm|in|px|)$`)

// ParseSize reads a size such as 16x11, in centimetres, or with a unit as in 6x4in,
// 160x110mm and 800x600px (96 pixels to the inch, as in a browser).
func ParseSize(text string) (Size, error) {
	bad := errors.New("must be WIDTHxHEIGHT in centimetres, such as 16x11, or with a unit (cm, mm, in, px), such as 800x600px")
	m := sizeForm.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return Size{}, bad
	}
	unit := map[string]float64{"": 1, "cm": 1, "mm": 0.1, "in": 2.54, "px": 2.54 / 96}[m[3]]
	width, err := strconv.ParseFloat(m[1], 64)
	height, err2 := strconv.ParseFloat(m[2], 64)
	if err != nil || err2 != nil {
		return Size{}, bad
	}
	s := Size{width * unit, height * unit}
	if min(s.Width, s.Height) < smallestSide || max(s.Width, s.Height) > largestSide {
		return Size{}, fmt.Errorf("sides must be from %d to %d cm", smallestSide, largestSide)
	}
	return s, nil
}
