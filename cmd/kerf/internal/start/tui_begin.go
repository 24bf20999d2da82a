package start

import (
	"context"
	"fmt"
	"os"

	"kerf/internal/front/tui"
	"kerf/internal/host"
)

// ways are how to begin where the provider of h has no key: a model of this machine that
// answers, a sign-in, the demo. What is chosen is for this start; nothing is written but
// by kerf login.
func (o *tuiOptions) ways(h *host.Host) func(context.Context) []tui.Way {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return func(ctx context.Context) []tui.Way {
		found := o.localWays(ctx, h)
		login := append([]string{self, "login"}, o.p.Again()...)
		name := h.Config.ModelProvider
		called := h.Config.Providers[name].Name
		ways := append(found,
			tui.Way{Name: "Sign in to " + called, About: "kerf login " + name, Command: append(login, name)},
			tui.Way{Name: "Sign in to another provider", About: "choose one of " + fmt.Sprint(len(h.Keys().LoginProviders())),
				Command: login},
			tui.Way{Name: "See the demo", About: "a scripted model mends a bug; no key, no network",
				Command: []string{self, "demo", "--tui"}})
		if len(found) == 0 {
			ways = append(ways, tui.Way{Name: "Look again for a model on this machine",
				About: "start one first: ollama serve"})
		}
		return ways
	}
}

// localWays are the model servers of this machine, each with the model it would be used
// with.
func (o *tuiOptions) localWays(ctx context.Context, h *host.Host) []tui.Way {
	var ways []tui.Way
	for _, s := range h.Providers().Servers(ctx) {
		if len(s.Models) == 0 {
			ways = append(ways, tui.Way{Name: "Use " + s.Name, About: "it answers, and has no model; " +
				s.PullHint("qwen3:8b") + ", then choose this"})
			continue
		}
		name := s.Models[0].Name
		about := "on this machine"
		if n := len(s.Models) - 1; n > 0 {
			about += fmt.Sprintf("; /model has %d more", n)
		}
		ways = append(ways, tui.Way{Name: "Use " + name + " of " + s.Name, About: about,
			Use: func(context.Context) error {
				again, err := o.p.Host(map[string]any{"model_provider": s.Provider, "model": name})
				if err != nil {
					return err
				}
				h.Use(again.Config, again.Warnings)
				return nil
			}})
	}
	return ways
}
