package each

import (
	"slices"
	"strconv"
	"testing"
)

func TestOf(t *testing.T) {
	if got := Of([]int{3, 1}, strconv.Itoa); !slices.Equal(got, []string{"3", "1"}) || Of(nil, strconv.Itoa) == nil {
		t.Error(got)
	}
}
