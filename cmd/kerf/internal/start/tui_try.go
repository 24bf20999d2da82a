package start

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kerf/cmd/kerf/internal/trying"
	"kerf/internal/front/tui"
	"kerf/internal/host"
)

// run shows the terminal UI, in a work tree of its own if that is asked for. It shows it anew
// as long as the user wants to go on with the session elsewhere: in a try, or outside of it.
func (o *tuiOptions) run(ctx context.Context, cmd *cobra.Command, args []string) error {
	leave, err := o.goApart(ctx, args)
	if err != nil {
		return err
	}
	defer leave()
	for {
		o.next = trying.Wish{}
		err := o.once(ctx, cmd, args)
		if err != nil || o.next.Session == "" {
			return err
		}
		o.try = "off"
		if o.next.Do == trying.Enter {
			o.try = "new"
		}
		o.resume, o.last, o.all, o.fork, o.pick, o.pickFork = o.next.Session, false, false, "", false, false
		args, o.images, o.request = nil, nil, o.next.Request
	}
}

// inTry runs Kerf anew in a try if that is asked for. Where it is left, o.next says so.
func (o *tuiOptions) inTry(ctx context.Context, h *host.Host, cmd *cobra.Command, args []string) (bool, error) {
	s, err := o.trial(ctx, h, args)
	if err != nil {
		return true, err
	}
	again := func(session string) []string { return append(o.flagged(cmd), "resume", session) }
	if o.request != "" || len(args) == 0 && o.resume != "" {
		s.Request = o.request
		s.Args = again(o.resume)
	}
	ran, session, err := s.Lead(ctx, o.p, h, again)
	o.next = trying.Wish{Do: trying.Leave, Session: session}
	return ran, err
}

// flagged are the flags of this run that hold for the session wherever it goes on.
func (o *tuiOptions) flagged(cmd *cobra.Command) []string {
	var args []string
	once := []string{"try", "image", "last", "all"}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(once, f.Name) {
			return
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			for _, v := range list.GetSlice() {
				args = append(args, fmt.Sprintf("--%s=%s", f.Name, v))
			}
			return
		}
		args = append(args, fmt.Sprintf("--%s=%s", f.Name, f.Value))
	})
	return args
}

// tries is what the terminal UI can do with tries.
func (o *tuiOptions) tries(h *host.Host) *tui.Tries {
	if o.client != nil || o.apart.Name != "" {
		return nil
	}
	t := &tui.Tries{Inside: trying.Current(o.p, h)}
	t.GoOn = func(do, session, request string) error {
		w := trying.Wish{Do: do, Session: session, Request: request}
		if t.Inside != 0 {
			return trying.Tell(o.p, h, w)
		}
		o.next = w
		return nil
	}
	if t.Inside != 0 {
		return t // what is here is the try
	}
	t.List = func(ctx context.Context) ([]tui.Waiting, error) {
		found, err := trying.List(ctx, h)
		var list []tui.Waiting
		for _, w := range found {
			list = append(list, tui.Waiting(w))
		}
		return list, err
	}
	t.Compare = func(ctx context.Context, one, other int) (string, error) {
		return trying.Compare(ctx, h, strconv.Itoa(one), strconv.Itoa(other))
	}
	t.End = func(ctx context.Context, id int, keep bool) (string, error) { return trying.End(ctx, o.p, h, id, keep) }
	return t
}
