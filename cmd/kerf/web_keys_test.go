//go:build unix

package main

import (
	"fmt"
	"testing"

	"kerf/internal/testkit/browser"
)

// Keys as chromedp names them.
const (
	keyDown = "\u0301"
	keyLeft = "\u0302"
)

// tabTo presses the tab key until an element has the focus, given as JavaScript.
func tabTo(t *testing.T, p *browser.Page, element string) {
	t.Helper()
	for range 500 {
		if browser.Eval[bool](p, "document.activeElement === "+element) {
			return
		}
		p.Keys("\t")
	}
	t.Fatalf("the tab key never leads to %s; it is at %s", element, p.Text("document.activeElement.outerHTML"))
}

// press goes to the button with these words and presses it, with keys alone.
func press(t *testing.T, p *browser.Page, words string) {
	t.Helper()
	p.Wait(button(words) + " && !" + button(words) + ".disabled")
	tabTo(t, p, button(words))
	p.Keys("\r")
}

// choose sets a list to a value, with keys alone.
func choose(t *testing.T, p *browser.Page, element, value string) {
	t.Helper()
	tabTo(t, p, element)
	for range 20 {
		if browser.Eval[bool](p, fmt.Sprintf("%s.value === %q", element, value)) {
			return
		}
		p.Keys(keyDown)
	}
	t.Fatalf("no key chooses %q", value)
}

// check sets a box, or the one of a group of buttons, with keys alone.
func check(t *testing.T, p *browser.Page, element string) {
	t.Helper()
	group := fmt.Sprintf("document.activeElement.name && document.activeElement.name === %s.name", element)
	for range 200 { // the tab key enters a group once, then arrows choose
		if browser.Eval[bool](p, fmt.Sprintf("Boolean(document.activeElement === %[1]s || %[1]s.type === 'radio' && %[2]s)", element, group)) {
			break
		}
		p.Keys("\t")
	}
	for range 20 {
		if browser.Eval[bool](p, "document.activeElement === "+element) {
			break
		}
		p.Keys(keyDown)
	}
	if !browser.Eval[bool](p, element+".checked") {
		p.Keys(" ")
	}
	if !browser.Eval[bool](p, element+".checked") {
		t.Fatalf("no key checks %s; the focus is at %s", element, p.Text("document.activeElement.outerHTML"))
	}
}
