package fit

import (
	"encoding/json"

	"gpfit/fit/summary"
)

// UpdatedRecord returns the record of the outcome with the updates of another one, which
// its rows went through.
func (o *Outcome) UpdatedRecord(updated json.RawMessage) (json.RawMessage, error) {
	history, err := summary.ReadRecord(updated)
	if err != nil {
		return nil, err
	}
	o.Record = *history
	if err := o.record(); err != nil {
		return nil, err
	}
	return o.Model.Record, nil
}
