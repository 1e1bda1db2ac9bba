package rows

import (
	"fmt"
	"slices"

	"gpfit/feature"
	"gpfit/gp"
)

// columns relates the columns of a table to the features of a model.
type columns struct {
	encoding *feature.Encoding
	// used are the columns that have a feature that the model uses.
	used []int
	// into holds, once choose has chosen, the index of each feature read.
	into []int
}

func newColumns(m *gp.Model) *columns {
	c := &columns{encoding: m.Encoding}
	if c.encoding == nil {
		c.encoding = feature.Numbers(m.FeatureNames)
	}
	of := c.columnOf()
	for _, f := range m.Columns {
		if !slices.Contains(c.used, of[f]) {
			c.used = append(c.used, of[f])
		}
	}
	return c
}

// columnOf returns the column of each feature.
func (c *columns) columnOf() []int {
	var of []int
	for i := range c.encoding.Columns {
		of = append(of, slices.Repeat([]int{i}, c.encoding.Columns[i].Width())...)
	}
	return of
}

// choose returns the encodings of that many columns: of those that the model uses, or of
// all.
func (c *columns) choose(count int) ([]feature.Coding, error) {
	chosen := c.used
	switch all := len(c.encoding.Columns); count {
	case len(c.used):
	case all:
		chosen = nil
		for i := range all {
			chosen = append(chosen, i)
		}
	default:
		return nil, &MismatchError{"features", fmt.Sprintf("selects %d columns, but the model has %d", count, all)}
	}
	out := make([]feature.Coding, len(chosen))
	c.into = nil
	of := c.columnOf()
	for i, k := range chosen {
		out[i] = c.encoding.Columns[k]
		for f := range of {
			if of[f] == k {
				c.into = append(c.into, f)
			}
		}
	}
	return out, nil
}
