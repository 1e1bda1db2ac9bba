package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gpfit/device"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt"
)

// Outcome is a report and, after a fit, the model.
type Outcome struct {
	Report Report
	Model  *gp.Model
	// posterior is on the workspace that the outcome keeps until Close.
	posterior *gp.Posterior
	close     func()
}

// SaveModel writes the model, with its Cholesky factor if asked.
func (o *Outcome) SaveModel(path string, withFactor bool) error {
	if withFactor {
		return o.posterior.SaveWithFactor(path)
	}
	return o.Model.Save(path)
}

// Close frees the device's memory.
func (o *Outcome) Close() { o.close() }

// session is a task on a device.
type session struct {
	task *Task
	ws   device.Workspace
	obj  *graph.Objective
	info device.Info
}

func (t *Task) open(ctx context.Context, b device.Backend) (*session, error) {
	ws, err := b.NewWorkspace(ctx, t.points)
	if err != nil {
		return nil, err
	}
	obj, err := graph.Build(ws, t.spec())
	if err != nil {
		ws.Close()
		return nil, err
	}
	s := &session{task: t, ws: ws, obj: obj, info: b.Info()}
	if names := obj.Names(); !slices.EqualFunc(names, t.params, func(n string, p parameter) bool { return n == p.name }) {
		s.close()
		return nil, fmt.Errorf("fit: the graph's parameters are %v", names)
	}
	return s, nil
}

func (s *session) close() {
	_ = s.ws.Close()
}

func (t *Task) startZ() []float64 {
	z := make([]float64, len(t.params))
	for i, p := range t.params {
		z[i] = p.toZ(p.start)
	}
	return z
}

// Evaluate computes the NLML, its terms and its gradient at the start values.
// inspect, unless nil, is given the objective afterwards, also after a failure.
func (t *Task) Evaluate(ctx context.Context, b device.Backend, inspect func(*graph.Objective) error) (*Report, error) {
	began := time.Now()
	s, err := t.open(ctx, b)
	if err != nil {
		return nil, err
	}
	defer s.close()
	s.ws.OnProgress(t.opts.OnProgress)
	z := t.startZ()
	grad := make([]float64, len(z))
	_, err = s.obj.ValueGradient(ctx, z, grad)
	err = explainStart(err)
	if inspect != nil {
		err = errors.Join(err, inspect(s.obj))
	}
	if err != nil {
		return nil, err
	}
	r := t.report(s, z, grad)
	r.Type, r.Status = "nlml", "evaluated"
	r.Seconds = time.Since(began).Seconds()
	return &r, nil
}

// explainStart adds the likely cause and what to do to a failure at given
// parameters.
func explainStart(err error) error {
	if device.IsNotPD(err) {
		return fmt.Errorf("%w: rows that repeat one another with a tiny noise_variance, or a lengthscale far longer than the data; raise noise_variance, shorten the lengthscale, or allow --max-jitter", err)
	}
	return err
}

// Fit tunes the parameters and returns the model. If ctx is cancelled it
// returns the best model so far together with ctx's error, provided that one
// point was evaluated. The caller closes the outcome if it is not nil.
func (t *Task) Fit(ctx context.Context, b device.Backend) (*Outcome, error) {
	began := time.Now()
	if meanIsConstant(t.trainY) {
		return nil, &DataError{fmt.Sprintf("the target %q is constant over the training rows: there is nothing to fit", t.data.TargetName)}
	}
	s, err := t.open(ctx, b)
	if err != nil {
		return nil, err
	}
	s.ws.OnProgress(t.opts.OnProgress)
	result, err := hyperopt.Minimize(ctx, t.problem(s.obj), t.settings())
	if err != nil && !isCancelled(err) || result == nil || result.X == nil {
		s.close()
		return nil, errors.Join(err, ctxError(result))
	}
	cancelled := err
	s.ws.OnProgress(nil)
	// The workspace may hold another point: make it hold the best. This runs
	// to its end even after a cancellation, so that a model can be written.
	final := context.WithoutCancel(ctx)
	if _, err := s.obj.Value(final, result.X); err != nil {
		s.close()
		return nil, errors.Join(cancelled, err)
	}
	out := &Outcome{Report: t.report(s, result.X, result.Gradient), close: s.close}
	out.Report.Type = "fit"
	out.Report.addResult(result)
	out.Model = t.model(s.obj, result)
	if out.posterior, err = out.Model.Attach(s.ws); err == nil {
		err = t.score(final, out)
	}
	if err != nil {
		s.close()
		return nil, errors.Join(cancelled, err)
	}
	out.Report.Seconds = time.Since(began).Seconds()
	return out, cancelled
}

func meanIsConstant(y []float64) bool { return constant(y, 0, 1) }

func isCancelled(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// ctxError explains a run that found no point without an error of its own.
func ctxError(r *hyperopt.Result) error {
	if r != nil && r.X == nil {
		return errors.New("no point was evaluated: there is no model to write")
	}
	return nil
}

func (t *Task) problem(obj *graph.Objective) hyperopt.Problem {
	p := hyperopt.Problem{Objective: obj, Start: t.startZ()}
	for _, q := range t.params {
		p.Names = append(p.Names, q.name)
		p.Lower = append(p.Lower, q.toZ(q.lo))
		p.Upper = append(p.Upper, q.toZ(q.hi))
		p.Fixed = append(p.Fixed, q.fixed)
	}
	return p
}

func (t *Task) settings() hyperopt.Settings {
	s := t.opts.Settings
	s.Callback = t.opts.OnIteration
	return s
}

// model collects what predictions need from the objective's last evaluation.
func (t *Task) model(obj *graph.Objective, r *hyperopt.Result) *gp.Model {
	theta, noise, alpha := obj.Theta()
	terms := obj.Terms()
	m := &gp.Model{
		Kernel: t.program.Text, Columns: t.columns, FeatureNames: t.data.FeatureNames, TargetName: t.data.TargetName,
		ParameterNames: t.program.Names(), Theta: theta, NoiseVariance: noise, Jitter: terms.Jitter,
		Scaling: t.scaling, NLML: terms.NLML(), Status: r.Status.String(),
		X: t.trainX, Y: t.trainY, Alpha: alpha,
	}
	for i, p := range t.params {
		switch p.group {
		case graph.MeanConst:
			m.MeanConstant = r.X[i]
		case graph.MeanSlope:
			m.MeanLinear = append(m.MeanLinear, r.X[i])
		}
	}
	return m
}

// score predicts the held-out rows.
func (t *Task) score(ctx context.Context, out *Outcome) error {
	if len(t.testY) == 0 {
		return nil
	}
	p, err := out.posterior.Predict(ctx, t.testX, len(t.testY))
	if err != nil {
		return err
	}
	var s TestScores
	s.N = len(t.testY)
	for i, y := range t.testY {
		err, std := y-p.Mean[i], p.Std[i]
		s.RMSE += err * err
		s.NLPD += 0.5*math.Log(2*math.Pi*std*std) + err*err/(2*std*std)
		if y >= p.Lower95[i] && y <= p.Upper95[i] {
			s.Coverage95++
		}
	}
	n := float64(s.N)
	s.RMSE, s.NLPD, s.Coverage95 = math.Sqrt(s.RMSE/n), s.NLPD/n, s.Coverage95/n
	s.RMSEStandardized = s.RMSE / t.targetScale()
	s.NLPDStandardized = s.NLPD - math.Log(t.targetScale())
	out.Report.Test = &s
	return nil
}

// targetScale is the standard deviation of the training targets, also where
// the fit does not scale them.
func (t *Task) targetScale() float64 {
	return gp.NewScaling(gp.StandardizeY, nil, t.trainY, 0).YScale
}
