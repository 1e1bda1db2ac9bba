// Package formats has the file formats of tables besides text and NumPy. A program that reads
// such files passes them in the options of package table, dataset or batch, and only then
// links their readers:
//
//	dataset.Options{Formats: []table.Format{formats.Parquet(), formats.Arrow()}}
package formats

import (
	"gpfit/table"
	"gpfit/table/formats/internal/arrow"
	"gpfit/table/formats/internal/parquet"
)

// Parquet returns the format of Apache Parquet files. It reads columns of numbers or bool as
// numbers and other columns as labels.
func Parquet() table.Format { return parquet.Format() }

// Arrow returns the format of Arrow IPC files: .arrow, and .feather of version 2. It reads
// numbers, decimals and bool as numbers, and texts, dates and times as labels.
func Arrow() table.Format { return arrow.Format() }
