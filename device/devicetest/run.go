package devicetest

import (
	"testing"

	"gpfit/device"
	"gpfit/device/tiling"
	"gpfit/kernel"
	"gpfit/kernel/kerneltest"
)

// RunKernel tests a covariance function in an expression that names it, and with ard, for points of
// the given numbers of columns, or of 1, 2 and 3. It checks that the parameters compile, that
// covariances on random points are symmetric up to rounding and positive semidefinite
// ([kernel.CheckKernelhood]), and that the derivatives by the logs of the parameters and by the
// inputs agree with central differences.
func RunKernel(t *testing.T, k *kernel.Family, columns ...int) {
	t.Helper()
	kerneltest.Run(t, k, columns...)
}

// Run runs the tests of every method on the backend that open returns. It tests optional
// capabilities if the workspaces have them, and skips what [device.Backend.Supports] excludes.
func Run(t *testing.T, open func(t *testing.T) device.Backend) {
	b := open(t)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	suite{b}.run(t, []test{
		{"Capabilities", testCapabilities},
		{"Evaluate", testEvaluate},
		{"Kernels", testKernels},
		{"VectorNoise", testVectorNoise},
		{"Adjoint", testAdjoint},
		{"AdjointSizes", testAdjointSizes},
		{"Predict", testPredict},
		{"SeveralSides", testSeveralSides},
		{"BadInput", testBadInput},
		{"Cancel", testCancel},
		{"Stages", testStages},
		{"Concurrent", testConcurrent},
		{"Progress", testProgress},
		{"InverseDiagonal", testInverseDiagonal},
		{"ContractDiagonal", testContractDiagonal},
		{"LeaveOneOut", testLeaveOneOut},
		{"InverseBlocks", testInverseBlocks},
		{"ContractBlocks", testContractBlocks},
		{"BlockSizes", testBlockSizes},
		{"PredictCovariance", testPredictCovariance},
		{"Factor", testFactor},
		{"ExtendFactor", testExtendFactor},
		{"Residual", testResidual},
		{"MultiplyDerivatives", testMultiplyDerivatives},
		{"ProductCalls", testProductCalls},
		{"Whiten", testWhiten},
	})
}

// RunDense runs [Run] for the exact method on the device that open returns, and the
// tests of such a device.
func RunDense(t *testing.T, open func(t *testing.T) device.DenseDevice) {
	b := device.Dense{}.On(open(t))
	Run(t, func(*testing.T) device.Backend { return b })
	suite{b}.run(t, []test{
		{"CentralDifferences", testCentralDifferences},
		{"AdjointKeepsFactor", testAdjointKeepsFactor},
		{"Reuse", testReuse},
		{"NotPD", testNotPD},
		{"NotPDAfterPredict", testNotPDAfterPredict},
		{"Steps", testSteps},
		{"ConcurrentBits", testConcurrentBits},
		{"Refuse", testRefuse},
	})
}

// RunInPlace runs [RunDense] and the tests of a device that works in one n×n matrix.
func RunInPlace(t *testing.T, open func(t *testing.T) device.DenseDevice) {
	RunDense(t, open)
	suite{device.Dense{}.On(open(t))}.run(t, []test{
		{"AdjointWork", testAdjointWork},
		{"BlockWork", testBlockWork},
		{"Work", testWork},
	})
}

// RunTiles runs the tests of a device that computes with tiles. What has no meaning by [tiling.Bank] is not compared, and
// is NaN where a test writes it.
func RunTiles(t *testing.T, open func(t *testing.T) tiling.Device) {
	dev := open(t)
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, one := range []struct {
		name string
		run  func(t *testing.T, s tileSuite)
	}{
		{"Storage", testTileStorage},
		{"Memory", testTileMemory},
		{"Products", testTileProducts},
		{"Factor", testTileFactor},
		{"Substitute", testTileSubstitute},
		{"Minors", testTileMinors},
		{"Covariances", testTileCovariances},
		{"Contract", testTileContract},
		{"Evaluation", testTiledEvaluation},
		{"Lanes", testTileLanes},
		{"Errors", testTileErrors},
	} {
		t.Run(one.name, func(t *testing.T) { one.run(t, tileSuite{dev}) })
	}
}

// test is one test of the suite.
type test struct {
	name string
	run  func(*testing.T, suite)
}

func (s suite) run(t *testing.T, tests []test) {
	for _, one := range tests {
		t.Run(one.name, func(t *testing.T) { one.run(t, s) })
	}
}
