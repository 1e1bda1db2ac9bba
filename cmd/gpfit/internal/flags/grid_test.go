package flags

import (
	"slices"
	"testing"
)

func TestParseGrid(t *testing.T) {
	got, err := ParseGrid("-1:1:5")
	if err != nil || !slices.Equal(got, []float64{-1, -0.5, 0, 0.5, 1}) {
		t.Errorf("grid %v, %v", got, err)
	}
}
