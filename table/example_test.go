package table_test

import (
	"errors"
	"fmt"
	"log"
	"strings"

	"gpfit/table"
)

// Read a table with row-major inputs and an output. Errors name the file, line and column.
func ExampleReadFrom() {
	text := "hour,load,kelvin\n0,3,280\n1,4,281.5\n2,5,283\n"
	t, err := table.ReadFrom(strings.NewReader(text), "data.csv", table.Options{Target: "kelvin"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(t.N, "rows,", t.D, "features", t.FeatureNames, t.X)
	fmt.Println(t.TargetName, t.Y)

	_, err = table.ReadFrom(strings.NewReader("a,b\n1,2\n3,four\n"), "data.csv", table.Options{})
	var e *table.Error
	if errors.As(err, &e) {
		fmt.Println(err)
	}
	// Output:
	// 3 rows, 2 features [hour load] [0 3 1 4 2 5]
	// kelvin [280 281.5 283]
	// data.csv:3: column 2 ("b"): not a number: "four"
}
