// Package option reads gpfit's options and assigns them to the library's. Its table,
// [All], has one entry for every option that commands share or that a batch spec takes:
// name, kind, default, unit, range, help, the places that take it, and the field of the
// library's options that it sets. Flags, GPFIT_ variables, the keys of a batch spec and
// their schema, the shell's completion and docs/options.md come from the table.
//
// The command line and a batch spec turn their own forms into [Item] values. An option
// reads them, and assigns the result to [Values]:
//
//	o := option.All().Find("restarts", "fit")
//	value, err := o.Read(nil, "5")
//	o.Assign(&values, value)
package option

//go:generate go run ./generate ../..
