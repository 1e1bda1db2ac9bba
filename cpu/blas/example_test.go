package blas_test

import (
	"fmt"
	"log"

	gonumblas "gonum.org/v1/gonum/blas"

	"gpfit/cpu/blas"
)

func Example() {
	impl, err := blas.New(blas.Options{})
	if err != nil {
		log.Fatal(err)
	}
	// C = A·B, row-major.
	a := []float64{
		1, 2,
		3, 4,
	}
	b := []float64{
		5, 6, 7,
		8, 9, 10,
	}
	c := make([]float64, 6)
	impl.Dgemm(gonumblas.NoTrans, gonumblas.NoTrans, 2, 3, 2, 1, a, 2, b, 3, 0, c, 3)
	fmt.Println(c)
	// Output: [21 24 27 47 54 61]
}

func ExampleImplementation_Cholesky() {
	impl, err := blas.New(blas.Options{})
	if err != nil {
		log.Fatal(err)
	}
	a := []float64{
		4, 0, 0,
		2, 5, 0,
		2, 3, 1,
	}
	fmt.Println("minor", impl.Cholesky(gonumblas.Lower, 3, a, 3))
	a = []float64{
		4, 0, 0,
		2, 5, 0,
		2, 3, 6,
	}
	fmt.Println("minor", impl.Cholesky(gonumblas.Lower, 3, a, 3), a)
	// Output:
	// minor 3
	// minor 0 [2 0 0 1 2 0 1 1 2]
}
