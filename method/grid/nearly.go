package grid

import (
	"fmt"
	"strconv"
	"strings"

	"gpfit/internal/textform"
	"gpfit/kernel"
)

// Nearly says what keeps points from being a grid that a kernel divides, if nine tenths of the combinations are there. It
// returns "" for other points, and for a grid.
func Nearly(prog *kernel.Program, x *kernel.Points) string {
	groups, err := columnGroups(prog)
	if err != nil || len(groups) < 2 {
		return ""
	}
	cells, most, of := 1, x.N*10/9, make([]int32, x.N)
	var sizes []string
	for _, columns := range groups {
		clear(of)
		rows := number(of, x, columns, min(x.N, most/cells))
		if rows == nil {
			return ""
		}
		cells *= len(rows)
		sizes = append(sizes, strconv.Itoa(len(rows)))
	}
	different := len(x.Places())
	missing, repeated := cells-different, x.N-different
	if missing == 0 && repeated == 0 || 10*different < 9*cells || cells > most {
		return ""
	}
	var why []string
	if missing > 0 {
		why = append(why, textform.Counted(missing, "combination")+" missing")
	}
	if repeated > 0 {
		why = append(why, textform.Counted(repeated, "repeated row"))
	}
	return fmt.Sprintf("the rows are nearly a full grid of %s, with %s: on a full grid the method grid would take far fewer operations", strings.Join(sizes, " × "), strings.Join(why, " and "))
}
