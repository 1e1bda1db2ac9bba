package spec

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gpfit/fit/problem"
	"gpfit/kernel"
	"gpfit/option"
	"gpfit/table"
)

// Mistake returns the error for a job that no data of its table can cure, at the place in the spec
// that states what is wrong: a column that the table does not have, an option that does not suit
// the job, or a kernel that does not suit the table. cause is the error of the job's preparation.
// For other causes, and if no place in the spec states it, Mistake returns nil.
func (s *Batch) Mistake(j JobSpec, cause error) error {
	at, msg := "", fmt.Sprint(cause)
	data, isData := errors.AsType[*table.Error](cause)
	opt, isOption := errors.AsType[*problem.OptionError](cause)
	_, isText := errors.AsType[*kernel.ParseError](cause)
	_, isKernel := errors.AsType[*kernel.CompileError](cause)
	switch {
	case isData && data.Selected != "" && j.Each != nil && data.Selected == j.Each.Column:
		at = fmt.Sprintf("data[%d].each", slices.IndexFunc(s.Data, func(d DataSet) bool { return d.Name == j.Data }))
		msg = strings.Replace(msg, " to exclude", "", 1)
	case isData && data.Selected != "":
		at = s.placeOfColumn(j, data.Selected)
	case isOption && opt.Option != "":
		if o := known().Find(opt.Option, option.Spec); o != nil {
			at, msg = s.statedAt(j, o), strings.TrimSpace(o.Key()+" "+opt.Value)+": "+opt.Msg
		}
	case isText || isKernel:
		at = s.kernelAt(j) + ".kernel"
	}
	if at == "" {
		return nil
	}
	return s.errorAt(at, cause, "job %s cannot work: %s", j.ID, msg)
}

// placeOfColumn returns the place of the option that names a column, or "".
func (s *Batch) placeOfColumn(j JobSpec, column string) string {
	fields := reflect.ValueOf(j.Options)
	for i, o := range known() {
		if field := fields.Field(i); o.Kind.Columns && !field.IsNil() {
			for _, item := range itemsOf(field) {
				if item.Value == column {
					if at := s.statedAt(j, &o); at != "" {
						return at + item.place
					}
				}
			}
		}
	}
	return ""
}
