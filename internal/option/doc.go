// Package option reads gpfit's options and assigns them to the library's. Its table,
// [All], has one entry for every option of a command or of a batch spec: name, kind,
// default, unit, range, help, the places that take it, the options that it needs or
// excludes, and the field that it sets. Flags, GPFIT_ variables, the keys of a batch spec
// and their schema, the shell's completion and docs/options.md come from the table.
//
// The command line and a batch spec turn their own forms into [Item] values. An option
// reads them, and assigns the result to [Values]:
//
//	o := option.All().Find("restarts", "fit")
//	value, err := o.Read(nil, "5")
//	o.Assign(&values, value)
package option
