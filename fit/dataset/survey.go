package dataset

import (
	"strings"

	"gpfit/table"
)

// Survey returns all faults of the table at path, and the options by name, as texts, with which [Read] accepts it; see
// [table.Survey]. err is for faults that no option mends.
func Survey(path string, o Options) (faults []table.Fault, options map[string]string, err error) {
	faults, fixed, err := table.Survey(path, o.columns(path))
	options = map[string]string{}
	if fixed.Missing == table.MissingDrop {
		options["missing"] = "drop"
	}
	for name, value := range map[string]string{
		"decimal": fixed.Text.Decimal, "thousands": fixed.Text.Thousands, "date-order": string(fixed.Columns.Order), "skip-lines": fixed.SkipLines, "target": fixed.Target, "encoding": fixed.Text.TextEncoding,
	} {
		if value != "" {
			options[name] = value
		}
	}
	if fixed.Text.Units {
		options["strip-units"] = "true"
	}
	for name, columns := range map[string][]string{"exclude": fixed.Exclude, "categories": fixed.Columns.Categories} {
		if len(columns) > 0 {
			options[name] = strings.Join(columns, ",")
		}
	}
	return faults, options, err
}
