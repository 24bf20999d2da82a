// Package browser drives a real Chromium in tests of pages.
package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// limit is how long one step may take.
const limit = 60 * time.Second

// Page is a page of a browser of its own. It fails its test when a step does.
type Page struct {
	t    testing.TB
	ctx  context.Context
	stop context.CancelFunc

	mu       sync.Mutex
	problems []string
	requests []string
}

// names are what Chromium is called.
var names = []string{"chromium", "chromium-browser", "google-chrome", "chrome"}

// Open starts a browser, and skips the test where there is none.
func Open(t testing.TB) *Page {
	t.Helper()
	return OpenWith(t, "")
}

// OpenWith is Open with rules for where hosts are, as "MAP name 127.0.0.2".
func OpenWith(t testing.TB, hosts string) *Page {
	t.Helper()
	path := ""
	for _, n := range names {
		if p, err := exec.LookPath(n); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("chromium is not installed")
	}
	// The pages are hostile only to themselves: what they load comes from this test.
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1200, 900), chromedp.WSURLReadTimeout(limit),
		chromedp.Env("HOME="+t.TempDir()))
	if hosts != "" {
		options = append(options, chromedp.Flag("host-resolver-rules", hosts))
	}
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	p := &Page{t: t, ctx: ctx, stop: cancel}
	p.begin()
	return p
}

// begin listens to what happens in the page.
func (p *Page) begin() {
	p.t.Helper()
	p.check("start", chromedp.Listen(p.ctx, p.heard))
	_, err := chromedp.Call(p.ctx, network.Enable, network.EnableParams{})
	p.check("start", err)
	_, err = chromedp.Call(p.ctx, log.Enable, cdp.Empty{})
	p.check("start", err)
	_, err = chromedp.Call(p.ctx, runtime.Enable, cdp.Empty{})
	p.check("start", err)
}

// heard keeps what the browser complains of, and what it asks for.
func (p *Page) heard(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.problems = append(p.problems, fmt.Sprintf("exception: %+v", e.ExceptionDetails))
	case *log.EventEntryAdded:
		p.problems = append(p.problems, fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	}
}

// Problems are the exceptions, the broken policies and the failed requests since it was
// asked last.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.problems
	p.problems = nil
	return list
}

// Requests are the addresses that the page asked for since this was asked last.
func (p *Page) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.requests
	p.requests = nil
	return list
}

func (p *Page) check(what string, err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatalf("browser: %s: %v", what, err)
	}
}

func (p *Page) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.ctx, limit)
	defer stop()
	p.check(what, chromedp.Do(ctx, steps...))
}

// Go opens an address.
func (p *Page) Go(url string) {
	p.t.Helper()
	p.do("open "+url, chromedp.Navigate(url))
}

// Keys presses keys.
func (p *Page) Keys(keys string) {
	p.t.Helper()
	p.do("keys "+keys, chromedp.KeyEvent(keys))
}

// Size changes the size of the window, and whether the user likes it dark.
func (p *Page) Size(width, height int64, dark bool) {
	p.t.Helper()
	p.do("size", chromedp.EmulateViewport(width, height))
	scheme := map[bool]string{false: "light", true: "dark"}[dark]
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	p.check("colours", err)
}

// Begin runs a program at the beginning of each page that is opened from now on.
func (p *Page) Begin(source string) {
	p.t.Helper()
	_, err := chromedp.Call(p.ctx, page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: source})
	p.check("begin", err)
}

// Text is the value of an expression of JavaScript as text.
func (p *Page) Text(expression string) string {
	p.t.Helper()
	return Eval[string](p, "String("+expression+")")
}

// Eval is the value of an expression, which may be a promise.
func Eval[T any](p *Page, expression string) T {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.ctx, limit)
	defer stop()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T]("(async () => ("+expression+"))()", chromedp.EvalAwaitPromise))
	p.check(expression, err)
	return v
}

// Inject runs a program in the page, as the browser's own tools do, whatever the page's
// policy says.
func (p *Page) Inject(source string) {
	p.t.Helper()
	p.do("inject", chromedp.Evaluate[chromedp.Void](source))
}

// Wait waits until an expression is true.
func (p *Page) Wait(expression string) {
	p.t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		ctx, stop := context.WithTimeout(p.ctx, limit)
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		stop()
		if err == nil && ok {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("browser: %s does not become true (%v); the page says:\n%s", expression, err,
				p.Text("document.body.innerText"))
		}
	}
}

// Shot keeps a picture of the window below $KERF_PICTURES, if that is set.
func (p *Page) Shot(name string) {
	p.t.Helper()
	dir := os.Getenv("KERF_PICTURES")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	p.check("picture", err)
	p.check("picture", os.WriteFile(filepath.Join(dir, strings.ReplaceAll(name, "/", "_")+".png"), png, 0o644))
}

// Tab opens a further tab of the same browser.
func (p *Page) Tab() *Page {
	p.t.Helper()
	ctx, stop := chromedp.NewContext(p.ctx)
	p.t.Cleanup(stop)
	tab := &Page{t: p.t, ctx: ctx, stop: stop}
	tab.begin()
	return tab
}

// Close closes a tab.
func (p *Page) Close() { p.stop() }
