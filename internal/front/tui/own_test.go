package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"kerf/internal/front/tui/keymap"
	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

func TestKeysOfTheUsersOwn(t *testing.T) {
	keys, err := keymap.New(map[string][]string{"queue": {"Ctrl+Q"}, "newline": {"ctrl+t", "option+return"},
		"suspend": {}, "transcript": {"f5"}})
	if err != nil {
		t.Fatal(err)
	}
	b := story(t, 100, 50, func(o *Options) { o.Keymap = keys })
	b.types("a").keys("ctrl+t").types("b").keys("alt+enter").types("c").keys("enter")
	b.submitted(protocol.UserInput{Items: []protocol.Input{{Text: "a\nb\nc"}}})
	b.event("t1", protocol.TurnStarted{}).types("later").keys("tab").submitted()
	b.keys("shift+enter").submitted() // no key of anything any more
	b.keys("ctrl+q").submitted(protocol.UserInput{Items: []protocol.Input{{Text: "later"}}, Queue: true})
	b.keys("ctrl+z").keys("f5").says("Transcript").keys("q")
	b.types("/keymap").keys("enter").says("queue             ctrl+q  config.toml",
		"suspend           no key  config.toml", "send              enter ", "transcript        f5  config.toml")
	b.keys("q").keys("ctrl+c", "ctrl+c", "ctrl+c")
	if !b.m.exit.closing {
		t.Error("ctrl+c twice leaves, whatever is set")
	}
}

// TestEveryKeyOfTheTableDoesSomething holds that the table of actions names keys that
// do something.
func TestEveryKeyOfTheTableDoesSomething(t *testing.T) {
	for _, a := range keymap.Actions() {
		for _, key := range a.Keys {
			b := story(t, 80, 24, func(o *Options) { o.Workspace = workspace() })
			b.types("x")
			if _, ok := b.m.actionKey(key); !ok && !b.m.input.EditKey(key) {
				t.Errorf("%s does nothing, which is said to be %s", key, a.Name)
			}
		}
	}
}

func TestViMode(t *testing.T) {
	b := story(t, 80, 24, func(o *Options) { o.Vi = true })
	b.says("INSERT").types("one two").keys("esc").says("NORMAL").types("bcwthree").says("› one three", "INSERT")
	b.keys("esc").types("0x").says("› ne three").keys("enter").submitted(protocol.UserInput{Items: []protocol.Input{{Text: "ne three"}}})
	b.says("INSERT").types("more").event("t1", protocol.TurnStarted{}).keys("esc").submitted()
	b.keys("esc").submitted(protocol.Interrupt{}).says("NORMAL")
	b.types("dd").says("Enter adds").types("/mod").says("▸ /model", "INSERT")
}

func TestThemeOfTheUsersOwn(t *testing.T) {
	mine, err := style.ParseTheme("light", map[string]string{"accent": "bold #ff8800 on #222222", "dim": "faint"})
	if err != nil {
		t.Fatal(err)
	}
	b := story(t, 80, 24, func(o *Options) {
		o.Theme, o.Themes, o.Depth = "mine", map[string]style.Theme{"mine": mine}, style.TrueColor
	})
	b.keep = true
	b.types("/theme").keys("enter").says("mine ✓", "contrast")
	if got := b.raw.String(); !strings.Contains(got, "\x1b[1;38;2;255;136;0;48;2;34;34;34m") {
		t.Errorf("the theme's accent is not drawn: %q", got)
	}
	b.keys("esc").types("/theme nope").keys("enter").says("there is no theme nope; there are auto, dark, light, " +
		"contrast, mono, mine")
	for _, x := range []struct{ base, role, look, want string }{
		{"pink", "dim", "bold", `base "pink": use dark, light, contrast or mono`},
		{"", "dimm", "bold", `there is no role "dimm"; there are plain, dim,`},
		{"", "dim", "#fff", `dim: "#fff": use #rrggbb`},
		{"", "dim", "on #ffffff", `dim: "on #ffffff": a background needs a colour before it`},
	} {
		if _, err := style.ParseTheme(x.base, map[string]string{x.role: x.look}); err == nil ||
			!strings.HasPrefix(err.Error(), x.want) {
			t.Errorf("%v: %v", x, err)
		}
	}
}

func TestHooksAreListed(t *testing.T) {
	b := story(t, 80, 24, func(o *Options) {
		o.Hooks = func() ([]Hook, []string, error) {
			return []Hook{{Event: "PreToolUse", Matcher: "Bash", Command: "guard \x1b[31m--all", From: "/home/x/hooks.json",
					Required: true}, {Event: "Stop", Command: "say done", From: "config.toml"}},
				[]string{".kerf/hooks.json: ignored"}, nil
		}
	})
	b.types("/hooks").keys("enter").golden("hooks_80")
}

func TestApplyElsewhere(t *testing.T) {
	var calls []string
	b := story(t, 80, 24, func(o *Options) {
		o.Apply = func(_ context.Context, dir, id string, dry bool) (string, string, error) {
			if dir == "/work/project/nowhere" {
				return "", "", errors.New("apply: nowhere is not a directory")
			}
			calls = append(calls, dir)
			if dry {
				return smallDiff, "exact    mathx/mathx.go\n", nil
			}
			calls = append(calls, "done "+id)
			return "", "exact    mathx/mathx.go\n", nil
		}
	})
	b.types("/apply").keys("enter").says("kerf apply -C DIRECTORY 0192-0000")
	b.types("/apply nowhere").keys("enter").says("nowhere is not a directory")
	b.types("/apply ../other").keys("enter").golden("apply_80")
	b.keys("enter").types("/apply ../other").keys("enter", "down", "enter").says("applied in /work/other",
		"exact    mathx/mathx.go")
	if got := strings.Join(calls, " "); got != "/work/other /work/other /work/other done 0192-0000-session-1" {
		t.Error(got)
	}
}

// TestTypedBeforeTheSessionIsOpen is sent once it is, in order.
func TestTypedBeforeTheSessionIsOpen(t *testing.T) {
	b := unopened(t, 80, 24)
	b.types("first").keys("enter").says("your message is sent after that").types("second").keys("enter").types("dra")
	b.run(b.m.Init())
	b.says("› dra").submitted(protocol.UserInput{Items: []protocol.Input{{Text: "first"}}},
		protocol.UserInput{Items: []protocol.Input{{Text: "second"}}})
}

// TestTrustIsAskedFirst opens nothing before the user decided, and nothing at all
// when the question is left.
func TestTrustIsAskedFirst(t *testing.T) {
	for _, x := range []struct {
		keys    []string
		decided string
		opened  int
	}{{[]string{"1"}, "", 0}, {[]string{"1", "enter"}, "true", 1}, {[]string{"enter"}, "", 1}, {[]string{"3"}, "false", 1}, {[]string{"esc"}, "", 0}} {
		decided := ""
		b := unopened(t, 80, 24, func(o *Options) {
			o.Trust = &Trust{Root: "/work/project",
				Found:  []string{"/work/project/.kerf/config.toml", "/work/project/.kerf/\u202ehooks.json"},
				Decide: func(yes bool) error { decided = fmt.Sprint(yes); return nil }}
		})
		b.run(b.m.Init())
		b.send(repaintMsg{})
		b.golden("trust_80").keys("1").says("Do you trust", "› 1").keys("ctrl+c").wait(panels.Settle)
		if len(b.fake.opened) != 0 {
			t.Error("a session was opened before the answer")
		}
		b.keys(x.keys...)
		if decided != x.decided || len(b.fake.opened) != x.opened || b.quit != (x.keys[0] == "esc") {
			t.Errorf("%v: decided %q, %d opened, left %v", x.keys, decided, len(b.fake.opened), b.quit)
		}
	}
}

// TestTheUsersOwnCommandSpeaksInTheStatusLine: it is asked when a turn is over, with what is
// known then, and not for anything else.
func TestTheUsersOwnCommandSpeaksInTheStatusLine(t *testing.T) {
	asked := 0
	b := story(t, 100, 30, func(o *Options) {
		o.StatusCommand = func(_ protocol.SessionID, _ protocol.Settings, used protocol.TokensUsed) string {
			asked++
			return fmt.Sprintf("run %d of %d tokens", asked, used.Total.Input)
		}
	})
	first := asked
	b.event("t", protocol.TurnStarted{}, protocol.TokensUsed{Total: protocol.Usage{Input: 77}}, protocol.Warning{Message: "w"})
	if asked != first {
		t.Errorf("asked %d times while a turn runs", asked-first)
	}
	b.event("t", protocol.TurnCompleted{})
	b.says(fmt.Sprintf("run %d of 77 tokens", first+1))
	b.agentEvent("other", protocol.TurnCompleted{})
	if asked != first+1 {
		t.Errorf("asked %d times after one turn", asked-first)
	}
}
