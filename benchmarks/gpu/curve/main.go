// Command curve draws the times of NLML and gradient on a GPU and on the CPU of the same
// machine against n, a chart for each kernel, from results of part curve of ../run.py:
//
//	go run ./benchmarks/gpu/curve OUT.svg RESULT.jsonl…
//
// Vertical lines show from which n the GPU is faster, as does the title of a chart, with
// the number of columns in brackets.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"gpfit/internal/plotting"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: curve OUT.svg RESULT.jsonl…")
		os.Exit(2)
	}
	if err := draw(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "curve:", err)
		os.Exit(1)
	}
}

func draw(out string, results []string) error {
	var all []record
	for _, path := range results {
		found, err := read(path)
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	f, err := figure(all)
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(results, ", "), err)
	}
	return f.Write(context.Background(), out, true)
}

// record is a line of a result. Type says which fields it has.
type record struct {
	Type, Step string
	// The machine.
	NvidiaSMI string `json:"nvidia_smi"`
	CPU       string
	CPUs      int
	// A measurement of value and gradient, or where the curves of a kernel cross; then N is
	// null if they do not.
	Kernel, Device string
	D              int
	N              *int
	Seconds        float64 `json:"seconds_value_gradient"`
}

func read(path string) (found []record, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := json.NewDecoder(file)
	for {
		// The types of fields that other lines have under these names do not matter.
		var line json.RawMessage
		if err := lines.Decode(&line); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: record %d: %w", path, len(found)+1, err)
		}
		var kind struct{ Type, Step string }
		if err := json.Unmarshal(line, &kind); err != nil {
			return nil, fmt.Errorf("%s: record %d: %w", path, len(found)+1, err)
		}
		r := record{Type: kind.Type, Step: kind.Step}
		if kind.Type == "machine" || kind.Step == "curve" && (kind.Type == "stages" || kind.Type == "crossover") {
			if err := json.Unmarshal(line, &r); err != nil {
				return nil, fmt.Errorf("%s: record %d: %w", path, len(found)+1, err)
			}
		}
		found = append(found, r)
	}
}

// figure has a chart for each kernel.
func figure(all []record) (*plotting.Figure, error) {
	f := &plotting.Figure{Title: "NLML with gradient", SharedY: true, Columns: 3}
	var kernels []string
	for _, r := range all {
		if r.Type == "machine" {
			card, _, _ := strings.Cut(r.NvidiaSMI, ",")
			f.Title = fmt.Sprintf("NLML with gradient: %s and %d threads of %s", card, r.CPUs, strings.NewReplacer("(R)", "", "(TM)", "").Replace(r.CPU))
		}
		if r.Type == "stages" && r.Step == "curve" && !slices.Contains(kernels, r.Kernel) {
			kernels = append(kernels, r.Kernel)
		}
	}
	if kernels == nil {
		return nil, errors.New("no results of part curve")
	}
	for _, name := range kernels {
		f.Charts = append(f.Charts, chart(name, all))
	}
	return f, nil
}

// shapes keep points visible where lines of different numbers of columns coincide.
var shapes = []plotting.Shape{plotting.Dot, plotting.Ring}

// chart has a line for each number of columns and each device.
func chart(name string, all []record) plotting.Chart {
	c := plotting.Chart{Title: name, X: plotting.Axis{Label: "rows n", Log: true}, Y: plotting.Axis{Label: "seconds", Log: true}}
	var columns []int
	for _, r := range all {
		if r.Kernel == name && r.Type == "stages" && !slices.Contains(columns, r.D) {
			columns = append(columns, r.D)
		}
	}
	slices.Sort(columns)
	var crossings []string
	for color, d := range columns {
		gpu := &plotting.Line{Name: fmt.Sprintf("GPU, %d columns", d), Color: color}
		cpu := &plotting.Line{Name: fmt.Sprintf("CPU, %d columns", d), Color: color, Dashed: true}
		for _, r := range all {
			if r.Kernel != name || r.D != d {
				continue
			}
			if r.Type == "crossover" && r.N != nil {
				c.Layers = append(c.Layers, &plotting.Guide{At: float64(*r.N), Color: color, Vertical: true})
				crossings = append(crossings, fmt.Sprintf("%d (%d)", *r.N, d))
			}
			if r.Type == "stages" {
				line := gpu
				if r.Device == "cpu" {
					line = cpu
				}
				line.X, line.Y = append(line.X, float64(*r.N)), append(line.Y, r.Seconds)
			}
		}
		for _, line := range []*plotting.Line{cpu, gpu} {
			if len(line.X) > 0 {
				sortByN(line)
				c.Layers = append(c.Layers, line, &plotting.Points{X: line.X, Y: line.Y, Color: color, Shape: shapes[color%len(shapes)]})
			}
		}
	}
	if crossings != nil {
		c.Title += ": GPU from " + strings.Join(crossings, ", ")
	}
	return c
}

func sortByN(l *plotting.Line) {
	order := make([]int, len(l.X))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(l.X[a] - l.X[b]) })
	x, y := make([]float64, len(order)), make([]float64, len(order))
	for i, from := range order {
		x[i], y[i] = l.X[from], l.Y[from]
	}
	l.X, l.Y = x, y
}
