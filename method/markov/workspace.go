package markov

import (
	"context"

	"gpfit/kernel"
	"gpfit/method/internal/hostmethod"
)

// chunk is the number of rows between looks at the context.
const chunk = 4096

// workspace is the [hostmethod.Engine].
type workspace struct {
	*hostmethod.State
	// order is the last sorted column.
	order *sortedRows
	filter
	// other is the model of a call at other parameters than Form's.
	other *stateModel
	// states are working space for the states of every row.
	states []float64
	// sweeps have the state that predictions keep from call to call.
	sweeps, spare *sweeps
}

// each calls do for all chunks of rows in order, each row of which takes flops operations. It polls ctx.
func (w *workspace) each(ctx context.Context, flops float64, do func(first, last int)) error {
	for first := 0; first < w.N; first += chunk {
		last := min(first+chunk, w.N)
		do(first, last)
		if err := w.worked(ctx, flops*float64(last-first)); err != nil {
			return err
		}
	}
	return nil
}

// eachBack is each from the last chunk to the first.
func (w *workspace) eachBack(ctx context.Context, flops float64, do func(first, last int)) error {
	for last := w.N; last > 0; last -= chunk {
		first := max(last-chunk, 0)
		do(first, last)
		if err := w.worked(ctx, flops*float64(last-first)); err != nil {
			return err
		}
	}
	return nil
}

// worked counts and reports operations, if there are any, and polls ctx.
func (w *workspace) worked(ctx context.Context, flops float64) error {
	if flops > 0 {
		w.Worked(flops)
	}
	return ctx.Err()
}

// Held implements [hostmethod.Engine].
func (w *workspace) Held() (bytes, matrices int64) {
	numbers := len(w.p) + len(w.k) + len(w.s) + len(w.decay) + len(w.integral) + len(w.states) + w.sweeps.numbers() + w.spare.numbers()
	if w.order != nil && w.order.order != nil {
		numbers += w.N + w.N/2
	}
	return 8 * int64(numbers), 0
}

// modelAt returns the model of a kernel, and the rows in its order.
func (w *workspace) modelAt(prog *kernel.Program, theta []float64) (*stateModel, *sortedRows, error) {
	switch {
	case w.stateModel.isAt(prog, theta):
		return w.stateModel, w.filter.sortedRows, nil
	case w.other.isAt(prog, theta):
		return w.other, w.sortedBy(w.other.column), nil
	}
	l, err := layoutOf(prog)
	if err != nil {
		return nil, nil, err
	}
	w.other = newModel(l, prog, theta)
	return w.other, w.sortedBy(l.column), nil
}

// sortedBy returns the rows in the order of a column.
func (w *workspace) sortedBy(column int) *sortedRows {
	if w.order == nil || w.order.column != column {
		w.order = sorted(w.Points, column)
	}
	return w.order
}
