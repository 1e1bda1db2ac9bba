package plotting

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"gonum.org/v1/plot/vg/draw"
)

// marked is a layer whose values a page shows under the pointer. notes may be nil.
type marked interface {
	marks() (name string, x, y []float64, notes []string)
}

func (l *Line) marks() (string, []float64, []float64, []string) { return l.Name, l.X, l.Y, nil }

func (p *Points) marks() (string, []float64, []float64, []string) {
	if p.Labels != nil {
		return p.Name, p.X, p.Y, p.Labels
	}
	return p.Name, p.X, p.Y, p.Notes
}

func (b *Bars) marks() (string, []float64, []float64, []string) { return b.Name, b.At, b.Height, nil }

// markSet holds the values of a chart for the script of a page.
type markSet struct {
	X      string      `json:"x"`
	Y      string      `json:"y"`
	Layers []markLayer `json:"layers"`
}

// markLayer is a layer. At has for each value its place in the picture, in points from the upper left
// corner, the texts of x and y, and perhaps a note.
type markLayer struct {
	Name string  `json:"name"`
	At   [][]any `json:"at"`
}

// marks returns the values of all charts as JSON.
func marksOf(charts []*chart, places [][]draw.Canvas, columns int, height float64) (string, error) {
	sets := make([]markSet, 0, len(charts))
	for i, c := range charts {
		data := c.plot.DataCanvas(places[i/columns][i%columns])
		right, up := c.plot.Transforms(&data)
		set := markSet{X: oneLine(c.X.Label), Y: oneLine(c.Y.Label), Layers: []markLayer{}}
		for _, l := range c.Layers {
			m, ok := l.(marked)
			if !ok {
				continue
			}
			name, x, y, notes := m.marks()
			layer := markLayer{Name: oneLine(name), At: [][]any{}}
			for k := range x {
				at, ok := c.at(x[k], y[k])
				px, py := right(at.X), up(at.Y)
				if !ok || px < data.Min.X-1 || px > data.Max.X+1 || py < data.Min.Y-1 || py > data.Max.Y+1 {
					continue
				}
				one := []any{tenths(float64(px)), tenths(height - float64(py)), c.X.text(x[k]), c.Y.text(y[k])}
				if notes != nil {
					one = append(one, oneLine(notes[k]))
				}
				layer.At = append(layer.At, one)
			}
			set.Layers = append(set.Layers, layer)
		}
		sets = append(sets, set)
	}
	text, err := json.Marshal(sets)
	return string(text), err
}

func tenths(v float64) float64 { return math.Round(10*v) / 10 }

// text returns a value in the words of the axis.
func (a *Axis) text(v float64) string {
	if i := int(v); a.Categories != nil && v == float64(i) && i >= 0 && i < len(a.Categories) {
		return oneLine(a.Categories[i])
	}
	if a.Date == nil {
		return signs.Replace(strconv.FormatFloat(v, 'g', 5, 64))
	}
	if t := a.Date(v); !t.Equal(t.Truncate(day)) {
		return t.Format(time.DateTime)
	}
	return a.Date(v).Format(time.DateOnly)
}
