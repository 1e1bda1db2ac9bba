package parquet

import (
	"testing"

	"gpfit/table/tabletest"
)

func FuzzParquet(f *testing.F) { tabletest.Fuzz(f, formats+"*.parquet", magic, formatList...) }
