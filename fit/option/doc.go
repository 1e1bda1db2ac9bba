// Package option is the table of gpfit's options. Every option that commands share,
// or that a batch can say, is one entry of [All]: its name, kind, default, unit,
// range, help, the places that take it, and the field of the library's options that
// it sets. Flags, GPFIT_ variables, the keys of a batch spec and their schema, the
// shell's completion and docs/options.md come from the table.
//
// An option is read from [Item] values, which the command line and a batch spec make
// of their own forms, and assigned to [Values]:
//
//	o := option.All().Find("restarts", "fit")
//	value, err := o.Read(nil, "5")
//	o.Assign(&values, value)
package option

//go:generate go run ./generate ../..
