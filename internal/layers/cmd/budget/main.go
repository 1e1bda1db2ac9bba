// Command budget lowers the budgets of internal/layers to what the code has, and names
// the numbers that are above them. With -print it prints the measured numbers instead.
package main

import (
	"flag"
	"fmt"
	"os"

	"gpfit/internal/layers"
)

func main() {
	onlyPrint := flag.Bool("print", false, "print what the code has")
	flag.Parse()
	if err := run(*onlyPrint); err != nil {
		fmt.Fprintln(os.Stderr, "budget:", err)
		os.Exit(1)
	}
}

func run(onlyPrint bool) error {
	pkgs, err := layers.Load(".", "./...")
	if err != nil {
		return err
	}
	measured, err := layers.Measure(".", pkgs)
	if err != nil {
		return err
	}
	if onlyPrint {
		fmt.Print(measured)
		return nil
	}
	budgets, err := layers.ReadBudgets(".")
	if err != nil {
		return err
	}
	lowered, above := budgets.Lowered(measured)
	for _, what := range above {
		fmt.Println(what)
	}
	return os.WriteFile(layers.BudgetPath, []byte(lowered.String()), 0o644)
}
