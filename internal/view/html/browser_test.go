package html

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// browser is a page in a headless Chromium. ORDAPPLY_CHROMIUM names the program, which
// then must exist; ORDAPPLY_SCREENSHOTS a folder for pictures of the pages.
type browser struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // chromedp keeps the page in it
}

// openPage shows the page of events in a browser.
func openPage(t *testing.T, lines string, width int64) browser {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	program := os.Getenv("ORDAPPLY_CHROMIUM")
	if program == "" {
		found, err := exec.LookPath("chromium")
		if err != nil {
			t.Skip("no chromium: `make browser` installs it")
		}
		program = found
	}
	run, err := Read(strings.NewReader(lines))
	require.NoError(t, err)
	var page bytes.Buffer
	require.NoError(t, Write(&page, run))
	file := filepath.Join(t.TempDir(), "run.html")
	require.NoError(t, os.WriteFile(file, page.Bytes(), 0o600))

	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WSURLReadTimeout(time.Minute))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	ctx, stop = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(stop)
	var faults []string
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			faults = append(faults, fmt.Sprintf("console: %s %s", e.Type, e.Args[0].Value))
		case *runtime.EventExceptionThrown:
			faults = append(faults, e.ExceptionDetails.Error())
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, "file://"+file) && !strings.HasPrefix(e.Request.URL, "data:") {
				faults = append(faults, "request of "+e.Request.URL)
			}
		}
	})
	b := browser{t, ctx}
	b.do(network.Enable(), emulation.SetDeviceMetricsOverride(width, 900, 1, false), chromedp.Navigate("file://"+file), chromedp.WaitReady("#table tbody"))
	t.Cleanup(func() { require.Empty(t, faults) })
	return b
}

func (b browser) do(actions ...chromedp.Action) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Run(b.ctx, actions...))
}

// eval returns the value of an expression on the page.
func eval[T any](b browser, expression string) T {
	b.t.Helper()
	var value T
	b.do(chromedp.Evaluate(expression, &value))
	return value
}

// click clicks the element whose text is exactly this.
func (b browser) click(within, text string) {
	b.t.Helper()
	b.do(chromedp.Click(fmt.Sprintf("//*[@id=%q]//*[self::button][normalize-space(.)=%q]", within, text), chromedp.BySearch))
}

func (b browser) text(selector string) string {
	b.t.Helper()
	return eval[string](b, fmt.Sprintf("document.querySelector(%q).innerText", selector))
}

func (b browser) count(selector string) int {
	b.t.Helper()
	return eval[int](b, fmt.Sprintf("[...document.querySelectorAll(%q)].filter((e) => e.checkVisibility()).length", selector))
}

// box returns the id of the box of the graph with this text.
func (b browser) box(text string) string {
	b.t.Helper()
	return eval[string](b, fmt.Sprintf(`[...document.querySelectorAll("#graph .box")].find((e) => e.textContent.includes(%q)).id`, text))
}

// picture saves a picture of the whole page, when they are asked for.
func (b browser) picture(name string) {
	folder := os.Getenv("ORDAPPLY_SCREENSHOTS")
	if folder == "" {
		return
	}
	var png []byte
	b.do(chromedp.FullScreenshot(&png, 100))
	require.NoError(b.t, os.WriteFile(filepath.Join(folder, name+".png"), png, 0o600))
}

// The controls of the page do what they say.
func TestPageInBrowser(t *testing.T) {
	b := openPage(t, sample(50), 1240)
	require.Equal(t, "The run timed out after 3m13s", b.text("h1"))
	require.Contains(t, b.text("#critical-text"), "of it is StatefulSet shop/kafka-19.")
	require.Contains(t, b.text("#failures"), "panic: no such host: kafka.shop")
	b.checkAccess()
	b.picture("light")

	b.click("failures", "Show Deployment shop/app-44")
	require.Equal(t, 1, b.count("#r44-more"))
	require.Equal(t, "Deployment shop/app-44", b.text(":focus"))
	b.click("table", "StatefulSet shop/kafka-19")
	require.Contains(t, b.text("#r19-more"), "waits for\nServiceAccount shop/robot-14 to be ready (pod-template: container app envFrom)")
	b.click("r19-more", "ServiceAccount shop/robot-14")
	require.Equal(t, "ServiceAccount shop/robot-14", b.text(":focus"))

	b.click("changes-list", "5 not applied")
	require.Equal(t, "5 of 50 resources", b.text("#count"))
	require.Equal(t, 5, b.count("#table tr.row"))
	b.click("changes-list", "5 not applied")
	b.do(chromedp.SendKeys("#text", "KAFKA"))
	require.Equal(t, 5, b.count("#table tr.row"))
	b.do(chromedp.SetValue("#state", "timed out"), chromedp.Evaluate(`document.querySelector("#state").dispatchEvent(new Event("input"))`, nil))
	require.Equal(t, "0 of 50 resources", b.text("#count"))

	b.click("parts", "Rollback")
	require.Equal(t, 1, b.count("#table tr.row"))
	require.Equal(t, 0, b.count("#failures"))
}

// All of it works from the keyboard: Tab reaches a row, Enter opens and closes it.
func TestPageByKeyboard(t *testing.T) {
	b := openPage(t, sample(20), 1240)
	b.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter)) // the link to the resources
	for range 6 {
		b.do(chromedp.KeyEvent(kb.Tab))
	}
	require.Equal(t, "Namespace shop/shop-0", b.text(":focus"))
	b.do(chromedp.KeyEvent(kb.Enter))
	require.Equal(t, "true", eval[string](b, "document.activeElement.ariaExpanded"))
	require.Equal(t, 1, b.count("#r0-more"))
	b.do(chromedp.KeyEvent(kb.Enter))
	require.Equal(t, 0, b.count("#r0-more"))

	b.do(chromedp.Focus("#theme"), chromedp.KeyEvent(" "))
	require.Equal(t, "dark", eval[string](b, "document.documentElement.dataset.theme"))
	b.checkAccess()
	b.picture("dark")

	b.do(chromedp.Focus("#"+b.box("shop/site-19")), chromedp.KeyEvent(kb.Enter))
	require.Equal(t, "Ingress shop/site-19, not started", b.text("#graph-about"))
	require.Equal(t, 1, b.count("#graph path.hot")) // from the box of app-15 and app-17
	b.do(chromedp.Focus("#graph-about button"), chromedp.KeyEvent(kb.Enter))
	require.Equal(t, "Ingress shop/site-19", b.text(":focus"))
}

// The page of 1,000 resources stays small, and each of them is reached.
func TestPageOfThousandResources(t *testing.T) {
	b := openPage(t, sample(1000), 1240)
	nodes := `document.querySelectorAll("*").length`
	require.Less(t, eval[int](b, nodes), 2500)
	require.Equal(t, 100, b.count("#table tr.row"))
	b.click("resources", "Next")
	require.Equal(t, "101–200 of 1,000", b.text("#resources .pager span"))
	b.click("failures", "Show Deployment shop/app-899")
	require.Equal(t, "Deployment shop/app-899", b.text(":focus"))
	require.Equal(t, "801–900 of 1,000", b.text("#resources .pager span"))

	require.Equal(t, 6, b.count("#graph .box"))
	require.Equal(t, 5, b.count("#graph .gate"))
	require.Equal(t, 4, b.count("#graph .gate.open"))
	require.Equal(t, "bad critical", eval[string](b, `document.querySelector("#`+b.box("apps: 500 resources")+`").getAttribute("class").slice(4)`))
	b.do(chromedp.Click("#" + b.box("broker: 100 resources")))
	require.Contains(t, b.text("#graph-about"), "StatefulSet shop/kafka-300, ready; StatefulSet shop/kafka-301, ready; ")
	require.Contains(t, b.text("#graph-about"), " and 88 more")
	b.picture("thousand")
	b.checkAccess()

	b = openPage(t, chain(3000, "waves"), 1240)
	require.Less(t, eval[int](b, nodes), 3000)
	b.picture("chain")
}

// A narrow window needs no scrolling to the side.
func TestNarrowPage(t *testing.T) {
	b := openPage(t, sample(50), 400)
	require.LessOrEqual(t, eval[int](b, "document.documentElement.scrollWidth"), 400)
	b.picture("narrow")
}

// Text of a cluster or a file is shown as text, and does not turn the text around it.
func TestHostileText(t *testing.T) {
	evil := `<img src=x onerror="console.log(1)">`
	b := openPage(t, strings.NewReplacer("app-17", `\u202eevil`+strings.ReplaceAll(evil, `"`, `\"`), "CrashLoopBackOff", strings.ReplaceAll(evil, `"`, `\"`)).Replace(sample(20)), 1240)
	require.Contains(t, b.text("#failures"), evil)
	require.Contains(t, b.text("#r17"), " evil<img")
	require.Contains(t, eval[string](b, `document.querySelector("#graph").textContent`), " evil<img")
	require.Equal(t, 0, b.count("img"))
}

// checkAccess checks the page for screen readers and eyes: names, labels, headings in
// order, ids that are unique, and contrast.
func (b browser) checkAccess() {
	b.t.Helper()
	require.Empty(b.t, eval[[]string](b, `(() => {
		const faults = [], seen = (e) => e.checkVisibility();
		const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
		if (new Set(ids).size !== ids.length) faults.push("an id occurs twice");
		let level = 1;
		for (const h of [...document.querySelectorAll("h1, h2, h3")].filter(seen)) {
			if (Number(h.tagName[1]) > level + 1) faults.push("heading " + h.innerText);
			level = Number(h.tagName[1]);
		}
		const number = (c) => c.match(/[\d.]+/g).map(Number);
		const light = ([r, g, b]) => [r, g, b].map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
		for (const e of [...document.querySelectorAll("body *")].filter((e) => seen(e) && !e.disabled && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))) {
			let ground = e;
			while (ground && (number(getComputedStyle(ground).backgroundColor)[3] ?? 1) === 0) ground = ground.parentElement;
			const a = light(number(getComputedStyle(e).color)), g = light(number(getComputedStyle(ground || document.body).backgroundColor));
			const contrast = (Math.max(a, g) + 0.05) / (Math.min(a, g) + 0.05);
			if (contrast < 4.5) faults.push("contrast " + contrast.toFixed(1) + ": " + e.innerText.slice(0, 40));
		}
		return faults;
	})()`))
	type text struct {
		Value any `json:"value"`
	}
	var tree struct { // of package accessibility, which does not know all fields of a newer Chromium
		Nodes []struct {
			Ignored bool `json:"ignored"`
			Role    text `json:"role"`
			Name    text `json:"name"`
		} `json:"nodes"`
	}
	b.do(chromedp.ActionFunc(func(ctx context.Context) error {
		return cdp.Execute(ctx, accessibility.CommandGetFullAXTree, nil, &tree)
	}))
	roles := map[any]int{}
	for _, n := range tree.Nodes {
		roles[n.Role.Value]++
		switch n.Role.Value {
		case "button", "link", "searchbox", "combobox", "table", "region", "navigation", "search", "columnheader", "heading", "group":
			require.True(b.t, n.Ignored || n.Name.Value != nil && n.Name.Value != "", "a %s without a name", n.Role.Value)
		}
	}
	for _, role := range []string{"main", "banner", "table", "search", "heading", "button"} {
		require.NotZero(b.t, roles[role], role)
	}
}
