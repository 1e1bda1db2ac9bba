package hyperopt

// The numbers that steer tuning. Values of the objective are in nats.
const (
	// coarseFrom is the number of rows from which CoarseAuto tunes on subsets.
	coarseFrom = 2000
	// Rows double from stage to stage, so that the stage before the last costs an
	// eighth of an evaluation over all rows for each of its own, and all before
	// that hardly anything. coarseLeast is the least number of rows of a stage, in
	// rows and in rows for each parameter: fewer say little about the optimum.
	coarseLeast, coarseLeastPerParameter = 400, 20
	// looseGradient and looseChange are the tolerances of a descent that is not
	// the last, see descent.Settings: the next stage moves the optimum by more.
	looseGradient, looseChange = 0.3, 1e-5
	// hessianShare is the share of an evaluation over all rows that the
	// differences for the Hessian of a subset may cost.
	hessianShare = 1

	// halfEvaluations limits the values of a descent on half of the rows: by then
	// it is where the other half matters more. halfHessianShare is as
	// hessianShare, for each start.
	halfEvaluations  = 25
	halfHessianShare = 0.5

	// restartsFrom is the number of rows from which restarts race: fewer cost
	// nothing.
	restartsFrom = 200
	// restartStd is the standard deviation, in log units, of restarts around the
	// parameters' own start: a factor of 20 up and down at two of them.
	restartStd = 1.5
	// pool is the number of starts of the first subset for each that may reach
	// all rows.
	pool = 2
	// hopeless is how far above the best, on a subset of the rows, an optimum may
	// be to go on: with all rows the difference is about twice that.
	hopeless = 20

	// Two ends of a stage are one optimum if their values differ by at most
	// sameValue, and the quadratic model of their distance is at most sameNats or
	// the ridge in the middle between them at most sameRidge.
	sameValue, sameNats, sameRidge = 2, 0.5, 0.05
)
