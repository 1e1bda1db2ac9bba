package experts

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"gpfit/device"
	"gpfit/kernel"
)

// Name is the name of the method of local experts.
const Name = "experts"

// Method is the method of local experts. Its backends compute as [device.Dense] until a job has a [Partition]
// ([Partition.On]) or a workload the state of one ([Partition.State]).
type Method struct{ device.Dense }

// About implements [device.Method].
func (Method) About() device.About {
	return device.About{
		Name: Name, Text: "an exact process for each cluster of the rows; the covariance between clusters counts as 0",
		Help: "the method of local experts",
	}
}

// Backends implements [device.Method].
func (m Method) Backends(devices []device.Device) ([]device.Backend, error) {
	out, err := m.Dense.Backends(devices)
	for i, b := range out {
		out[i] = Undivided{b}
	}
	return out, err
}

// Undivided is a backend that divides the rows of a workload as its state says; see [device.For].
type Undivided struct{ device.Backend }

// For returns the backend for a workload.
func (b Undivided) For(w device.Workload) device.Backend {
	if w.State.Method != Name {
		return device.For(b.Backend, w)
	}
	p, err := Read(w.State)
	if err == nil {
		err = p.usable(w.N, w.D)
	}
	if err != nil {
		return broken{p.On(b.Backend), err}
	}
	return p.On(b.Backend)
}

// broken is a backend for a state that cannot be used.
type broken struct {
	device.Backend
	err error
}

// Supports returns the error.
func (b broken) Supports(device.Workload) error { return b.err }

// State returns the partition as the state of a model.
func (p *Partition) State() device.State {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // numbers of a partition are finite
	}
	return device.State{Method: Name, Text: string(text)}
}

// Read returns the partition of the state of a model, nil for a model of another method.
func Read(s device.State) (*Partition, error) {
	if s.Method != Name {
		return nil, nil
	}
	p := &Partition{}
	if err := json.Unmarshal([]byte(s.Text), p); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			err = fmt.Errorf("%s cannot be %s", cmp.Or(wrong.Field, "it"), wrong.Value)
		}
		return nil, &StateError{err}
	}
	if len(p.Centres) == 0 || len(p.Sizes) != len(p.Centres) { // before anything takes the largest
		return nil, &StateError{fmt.Errorf("%d experts with %d sizes", len(p.Centres), len(p.Sizes))}
	}
	return p, nil
}

// StateError reports a model whose partition among local experts cannot be used.
type StateError struct{ Err error }

func (e *StateError) Error() string {
	return "the partition of the model among local experts is damaged: " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *StateError) Unwrap() error { return e.Err }

// usable returns a [*StateError] unless the partition suits a model of n rows and d columns.
func (p *Partition) usable(n, d int) error {
	if err := p.Check(n, d); err != nil {
		return &StateError{err}
	}
	return nil
}

// Blocks returns the rows of each expert, ascending, of the training rows x of a model with a state.
func Blocks(s device.State, x *kernel.Points) ([][]int, error) {
	p, err := Read(s)
	if err == nil {
		err = p.usable(x.N, x.D)
	}
	if err != nil {
		return nil, err
	}
	out := make([][]int, len(p.Centres))
	for i, k := range p.Assign(x) {
		out[k] = append(out[k], i)
	}
	return out, nil
}

// MaxRows returns 0: how many rows fit depends on the number of experts.
func (Method) MaxRows(int64) int { return 0 }

// CheckMethod returns an error if the method called asked does not suit a job or a model
// with local experts, or one without.
func CheckMethod(asked string, divided bool) error {
	switch {
	case asked == Name && !divided:
		return fmt.Errorf("computes with local experts, which only fits with option experts have, such as kmeans:20, and their models")
	case divided && asked != "" && asked != device.Chosen && asked != Name:
		return fmt.Errorf("computes with one process, but there are local experts, whose method is %s", Name)
	}
	return nil
}
