package hyperopt

// Constants of the tuning strategy. Values of the objective are in nats.
const (
	// coarseFrom is the number of rows from which CoarseAuto tunes on subsets.
	coarseFrom = 2000
	// Rows double from stage to stage. An evaluation in the last stage but one thus
	// costs an eighth of an evaluation over all rows, and earlier stages cost
	// hardly anything. coarseLeast and coarseLeastPerParameter are the smallest
	// number of rows of a stage, in total and for each parameter; fewer rows say
	// little about the optimum.
	coarseLeast, coarseLeastPerParameter = 400, 20
	// looseGradient and looseChange are the tolerances of all descents before the
	// last, see descent.Settings. The next stage moves the optimum by more than
	// these.
	looseGradient, looseChange = 0.3, 1e-5
	// hessianShare bounds the cost of the differences for the Hessian of a subset,
	// as a fraction of an evaluation over all rows.
	hessianShare = 1

	// halfEvaluations limits the values of a descent on half of the rows: after that
	// many, values over all rows tell more than further descent.
	halfEvaluations = 10

	// restartsFrom is the number of rows from which restarts race. With fewer rows,
	// complete descents cost almost nothing.
	restartsFrom = 200
	// restartStd is the standard deviation, in log units, of restarts around the
	// given start: two standard deviations are a factor of 20 up or down.
	restartStd = 1.5
	// pool is the number of starts on fewer rows for each start that may reach all
	// rows, and leastPool their least number.
	pool, leastPool = 2, 8
	// undone is the difference between the value of a start, estimated from its half,
	// and the best value over all rows, up to which its own value over all rows is
	// worth an evaluation.
	undone = 50
	// worthwhile is the largest difference of the value at an alternative to the best
	// value with which a descent from there is worth its evaluations.
	worthwhile = 20
	// hopeless is the largest difference to the best, on a subset of the rows, with
	// which an optimum continues. Over all rows the difference is about twice as
	// large.
	hopeless = 20

	// Two ends of a stage are the same optimum if their values differ by at most
	// sameValue, and if either the quadratic model of their distance is at most
	// sameNats or the ridge midway between them is at most sameRidge.
	sameValue, sameNats, sameRidge = 2, 0.5, 0.05
)
