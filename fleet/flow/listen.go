package flow

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"kerf/fleet/task"
)

// openQuestions bounds the questions of one task that are open at a time.
const openQuestions = 100

// listen takes what comes from outside while the task runs.
func (o *one) listen(ctx workflow.Context) {
	asked := workflow.GetSignalChannel(ctx, AskedSignal)
	stopped := workflow.GetSignalChannel(ctx, StoppedSignal)
	answers := workflow.GetSignalChannel(ctx, AnswerSignal)
	steers := workflow.GetSignalChannel(ctx, SteerSignal)
	workflow.Go(ctx, func(ctx workflow.Context) {
		s := workflow.NewSelector(ctx)
		s.AddReceive(asked, func(c workflow.ReceiveChannel, _ bool) {
			var q task.Question
			c.Receive(ctx, &q)
			o.ask(ctx, q)
		})
		s.AddReceive(stopped, func(c workflow.ReceiveChannel, _ bool) {
			var id string
			c.Receive(ctx, &id)
			o.take(ctx, id)
		})
		s.AddReceive(answers, func(c workflow.ReceiveChannel, _ bool) {
			var a task.Answer
			c.Receive(ctx, &a)
			o.answer(ctx, a)
		})
		s.AddReceive(steers, func(c workflow.ReceiveChannel, _ bool) {
			var text string
			c.Receive(ctx, &text)
			o.deliver(ctx, task.Order{Steer: text})
		})
		for ctx.Err() == nil {
			s.Select(ctx)
		}
	})
}

// ask opens a question. Where nobody answers in time the answer is no.
func (o *one) ask(ctx workflow.Context, q task.Question) {
	if o.state.Place == nil || len(o.state.Questions) >= openQuestions ||
		slices.ContainsFunc(o.state.Questions, func(x task.Question) bool { return x.ID == q.ID }) {
		return
	}
	q.Until = workflow.Now(ctx).Add(o.task.Limits.Answer)
	o.state.Questions = append(o.state.Questions, q)
	o.phase(ctx, task.Asking)
	timed, stop := workflow.WithCancel(ctx)
	o.timers[q.ID] = stop
	workflow.Go(timed, func(timed workflow.Context) {
		if workflow.Sleep(timed, o.task.Limits.Answer) == nil {
			o.answer(ctx, task.Answer{Question: q.ID, By: "time limit",
				Words: "nobody answered within " + o.task.Limits.Answer.String()})
		}
	})
}

// take closes a question and reports whether it was open.
func (o *one) take(ctx workflow.Context, id string) bool {
	i := slices.IndexFunc(o.state.Questions, func(q task.Question) bool { return q.ID == id })
	if i < 0 {
		return false
	}
	o.close(i)
	if len(o.state.Questions) == 0 && o.state.Phase == task.Asking {
		o.phase(ctx, task.Running)
	}
	return true
}

// close removes an open question and its time limit.
func (o *one) close(i int) {
	id := o.state.Questions[i].ID
	o.state.Questions = slices.Delete(o.state.Questions, i, i+1)
	o.timers[id]()
	delete(o.timers, id)
}

// answeredKept bounds what a state tells of answers.
const answeredKept = 100

// answer passes an answer on. The first one counts; the state tells which it was.
func (o *one) answer(ctx workflow.Context, a task.Answer) {
	if !o.take(ctx, a.Question) {
		return
	}
	o.state.Answered = append(o.state.Answered, task.Answer{Question: a.Question, Yes: a.Yes, By: a.By, Key: a.Key})
	if over := len(o.state.Answered) - answeredKept; over > 0 {
		o.state.Answered = o.state.Answered[over:]
	}
	o.deliver(ctx, task.Order{Answer: &a})
}

// deliver hands an order to the worker that has the session. A worker that is lost takes no
// orders: the next one asks again, and a text that was not delivered is gone, which its
// sender sees in the state.
func (o *one) deliver(ctx workflow.Context, order task.Order) {
	p := o.state.Place
	if p == nil {
		return
	}
	given := o.times.once(ctx, p.Queue, short, "deliver")
	workflow.Go(ctx, func(ctx workflow.Context) {
		_ = workflow.ExecuteActivity(given, "Deliver", o.task.ID, order).Get(ctx, nil)
	})
}
