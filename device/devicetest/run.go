package devicetest

import (
	"gpfit/device"
	"testing"
)

// Run runs the tests of every method on the backend that open returns. It tests optional
// capabilities if the workspaces have them, and skips what [device.Backend.Supports]
// excludes.
func Run(t *testing.T, open func(t *testing.T) device.Backend, tol Tolerances) {
	b := open(t)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	suite{b, tol}.run(t, []test{
		{"Capabilities", suite.testCapabilities},
		{"Evaluate", suite.testEvaluate},
		{"Kernels", suite.testKernels},
		{"VectorNoise", suite.testVectorNoise},
		{"Adjoint", suite.testAdjoint},
		{"AdjointSizes", suite.testAdjointSizes},
		{"Predict", suite.testPredict},
		{"SeveralSides", suite.testSeveralSides},
		{"BadInput", suite.testBadInput},
		{"Cancel", suite.testCancel},
		{"Stages", suite.testStages},
		{"Concurrent", suite.testConcurrent},
		{"Progress", suite.testProgress},
		{"InverseDiagonal", suite.testInverseDiagonal},
		{"ContractDiagonal", suite.testContractDiagonal},
		{"LeaveOneOut", suite.testLeaveOneOut},
		{"InverseBlocks", suite.testInverseBlocks},
		{"ContractBlocks", suite.testContractBlocks},
		{"BlockSizes", suite.testBlockSizes},
		{"PredictCovariance", suite.testPredictCovariance},
		{"Factor", suite.testFactor},
		{"ExtendFactor", suite.testExtendFactor},
		{"Residual", suite.testResidual},
	})
}

// RunDense runs [Run] for the exact method on the device that open returns, and the
// tests of such a device.
func RunDense(t *testing.T, open func(t *testing.T) device.DenseDevice) {
	b := device.Dense{}.On(open(t))
	Run(t, func(*testing.T) device.Backend { return b }, exact)
	suite{b, exact}.run(t, []test{
		{"CentralDifferences", suite.testCentralDifferences},
		{"AdjointKeepsFactor", suite.testAdjointKeepsFactor},
		{"FactorBits", suite.testFactorBits},
		{"Reuse", suite.testReuse},
		{"NotPD", suite.testNotPD},
		{"NotPDAfterPredict", suite.testNotPDAfterPredict},
		{"Steps", suite.testSteps},
		{"ConcurrentBits", suite.testConcurrentBits},
		{"Refuse", suite.testRefuse},
	})
}

// RunInPlace runs [RunDense] and the tests of a device that works in one n×n matrix.
func RunInPlace(t *testing.T, open func(t *testing.T) device.DenseDevice) {
	RunDense(t, open)
	suite{device.Dense{}.On(open(t)), exact}.run(t, []test{
		{"AdjointWork", suite.testAdjointWork},
		{"BlockWork", suite.testBlockWork},
		{"Work", suite.testWork},
	})
}

// test is one test of the suite.
type test struct {
	name string
	run  func(suite, *testing.T)
}

func (s suite) run(t *testing.T, tests []test) {
	for _, one := range tests {
		t.Run(one.name, func(t *testing.T) { one.run(s, t) })
	}
}
