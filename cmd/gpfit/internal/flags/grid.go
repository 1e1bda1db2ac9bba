package flags

import (
	"strconv"
	"strings"

	"gpfit/cmd/gpfit/internal/exit"
)

// ParseGrid reads LO:HI:COUNT, the value of --grid: COUNT equally spaced numbers
// from LO to HI.
func ParseGrid(text string) ([]float64, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return nil, exit.Usagef("--grid %s: needs LO:HI:COUNT", text)
	}
	lo, err1 := strconv.ParseFloat(parts[0], 64)
	hi, err2 := strconv.ParseFloat(parts[1], 64)
	count, err3 := strconv.Atoi(parts[2])
	if err1 != nil || err2 != nil || err3 != nil || !(lo < hi) || hi-lo-(hi-lo) != 0 || count < 2 || count > 1<<24 {
		return nil, exit.Usagef("--grid %s: needs LO:HI:COUNT with LO < HI and a COUNT of at least 2", text)
	}
	out := make([]float64, count)
	for i := range out {
		t := float64(i) / float64(count-1)
		out[i] = lo*(1-t) + hi*t
	}
	return out, nil
}
