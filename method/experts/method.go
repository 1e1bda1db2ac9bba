package experts

import (
	"fmt"

	"gpfit/device"
)

// Name is the name of the method of local experts.
const Name = "experts"

// Method is the method of local experts. It computes on the backends of [device.Dense] until a job
// or a model has a [Partition], which then makes its own of them ([Partition.On]).
type Method struct{ device.Dense }

// About implements [device.Method].
func (Method) About() device.About {
	return device.About{
		Name: Name, Text: "an exact process for each cluster of the rows; the covariance between clusters counts as 0",
		Help: "the method of local experts",
	}
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
