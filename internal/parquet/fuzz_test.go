package parquet

import (
	"testing"

	"gpfit/internal/tabletest"
)

func FuzzParquet(f *testing.F) { tabletest.Fuzz(f, formats+"*.parquet", magic, Format()) }
