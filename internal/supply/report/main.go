// Command report prints the licences of the modules that gpfit uses, or a program's bill
// of materials. Run it in the module's folder:
//
//	go run ./internal/supply/report licences          the licences of all modules
//	go run ./internal/supply/report sbom ./gpfit      a program's bill of materials
package main

import (
	"fmt"
	"os"

	"gpfit/internal/supply"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	modules, err := supply.Modules(".")
	if err != nil {
		return err
	}
	if err := supply.Check(modules); err != nil {
		return err
	}
	switch {
	case len(args) == 1 && args[0] == "licences":
		return supply.WriteLicences(os.Stdout, modules)
	case len(args) == 2 && args[0] == "sbom":
		return supply.BOM(os.Stdout, args[1], modules)
	}
	return fmt.Errorf("usage: report licences, or report sbom PROGRAM")
}
