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
	"github.com/chromedp/cdproto/input"
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

// On a telephone, the lines of a log wrap.
func TestLogsWrap(t *testing.T) {
	b := openPage(t, strings.Replace(sample(5), "goroutine 1 [running]:", "goroutine 1 [running]: "+strings.Repeat("main.start/", 20), 1), 390)
	require.True(t, eval[bool](b, `[...document.querySelectorAll("#failures pre")].every((log) => log.scrollWidth <= log.clientWidth)`))
	require.Equal(t, 1, b.count("#failures pre"))
}

// A long critical path shows its longest segments, and how many lie between them.
func TestLongCriticalPath(t *testing.T) {
	b := openPage(t, chain(40, "waves"), 1240)
	require.Regexp(t, `^ConfigMap x/c0 1s\n(ConfigMap x/c\d+ 1s · r.*\n){14}25 more segments 25s$`, b.text("#critical-list"))
	b.click("critical", "Show all 40 segments")
	require.Regexp(t, `^(ConfigMap x/c\d+ 1s.*\n?){40}$`, b.text("#critical-list"))
}

// The controls of the page do what they say.
func TestPageInBrowser(t *testing.T) {
	b := openPage(t, sample(50), 1240)
	require.Equal(t, "Apply of shop, revision 3, timed out after 3m14s", b.text("h1"))
	require.Equal(t, "Apply of shop, revision 3, timed out after 3m14s · ordapply", eval[string](b, "document.title"))
	require.Equal(t, "open the shop", b.text("#message"))
	require.Contains(t, b.text("#facts"), "by ci:deployer · commit 8f94139c27 · ")
	require.Contains(t, b.text("#critical-list"), "preparation 500ms\npre-upgrade hook Job shop/migrate 3s\nNamespace")
	require.Contains(t, b.text("#critical-text"), "of it is StatefulSet shop/kafka-19.")
	require.Contains(t, b.text("#failures"), "panic: no such host: kafka.shop")
	require.Equal(t, "Pod shop/app-x7: container app waits: CrashLoopBackOff, restarted 4 times", b.text("#failures .cause"))
	require.Regexp(t, `2026[^·]* (UTC|GMT|[A-Z]{3,5})[^·]* · context`, b.text("#facts"))
	b.checkAccess()
	b.picture("light")

	b.click("failures", "Show Deployment shop/app-44")
	require.Equal(t, 1, b.count("#r44-more"))
	require.Equal(t, "Deployment shop/app-44", b.text(":focus"))
	b.click("table", "wave 4/6 broker")
	b.click("table", "StatefulSet shop/kafka-19")
	require.Contains(t, b.text("#r19-more"), "waits for\nServiceAccount shop/robot-14 to be ready (pod-template: container app envFrom)")
	b.click("r19-more", "ServiceAccount shop/robot-14")
	require.Equal(t, "ServiceAccount shop/robot-14", b.text(":focus"))

	b.click("changes-list", "5 not applied")
	require.Equal(t, "5 of 50 resources", b.text("#count"))
	require.Equal(t, 5, b.count("#table tr.row"))
	require.Equal(t, "wave 6/6 web", b.text("#table tr.group .name"))
	b.click("changes-list", "5 not applied")
	b.do(chromedp.SendKeys("#text", "KAFKA"))
	require.Equal(t, 5, b.count("#table tr.row"))
	b.do(chromedp.SetValue("#state", "timed out"), chromedp.Evaluate(`document.querySelector("#state").dispatchEvent(new Event("input"))`, nil))
	require.Equal(t, "0 of 50 resources", b.text("#count"))

	b.click("parts", "Rollback")
	require.Equal(t, 1, b.count("#table tr.row"))
	require.Equal(t, 0, b.count("#failures"))
}

// The timeline has what ran in the order in which it ran. Waves in which nothing failed are
// closed after a failure; an open one has its failures first, then what took longest, and
// folds what was unchanged.
func TestTimeline(t *testing.T) {
	b := openPage(t, sample(50), 1240)
	names := `[...document.querySelectorAll("#table tbody .name, #table tbody .more")].map((e) => e.innerText)`
	require.Equal(t, []string{
		"preparation", "pre-upgrade hooks", "wave 1/6", "wave 2/6 platform", "wave 3/6 data", "wave 4/6 broker", "wave 5/6 apps", "Deployment shop/app-44", "Deployment shop/app-38",
	}, eval[[]string](b, names)[:9])
	require.Equal(t, []string{"6 unchanged", "wave 6/6 web"}, eval[[]string](b, names+".slice(-2)"))
	require.Equal(t, "1 failed; 6 created, 13 configured, 6 unchanged", b.text("#wave-5 td:nth-child(2)"))
	require.Equal(t, 19, b.count("#table tr.row"))
	b.click("table", "6 unchanged")
	require.Equal(t, 25, b.count("#table tr.row"))
	b.click("table", "pre-upgrade hooks")
	require.Equal(t, "pre-upgrade hooks", b.text(":focus"))
	require.Equal(t, 1, b.count("#h0"))
	b.click("table", "wave 5/6 apps")
	require.Equal(t, 1, b.count("#table tr.row"))
	b.click("critical-list", "pre-upgrade hook Job shop/migrate")
	require.Equal(t, "Job shop/migrate", b.text(":focus"))
	b.do(chromedp.SetValue("#order", "took"), chromedp.Evaluate(`document.querySelector("#order").dispatchEvent(new Event("input"))`, nil))
	require.Equal(t, []string{"Deployment shop/app-44", "StatefulSet shop/kafka-19"}, eval[[]string](b, names+".slice(0, 2)"))
}

// Buttons, keys and a click on the bar of a wave zoom in; the pointer shows its time.
func TestZoom(t *testing.T) {
	b := openPage(t, sample(50), 1240)
	span := func() float64 {
		return eval[float64](b, `Number(document.querySelector("#area").style.getPropertyValue("--span"))`)
	}
	start := func() float64 {
		return eval[float64](b, `Number(document.querySelector("#area").style.getPropertyValue("--start"))`)
	}
	whole := span()
	b.click("zoom", "+")
	b.do(chromedp.KeyEvent("+"))
	require.InDelta(t, whole/4, span(), 0.01)
	require.InDelta(t, whole*3/8, start(), 0.01)
	b.do(chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent("-"))
	require.InDelta(t, whole/2, span(), 0.01)
	for range 6 {
		b.do(chromedp.KeyEvent("+"))
	}
	require.Regexp(t, `^(1m)?[0-9]+\.[05]s`, b.text("#scale"), "steps of half a second are told apart")
	b.do(chromedp.KeyEvent("0"))
	require.InDelta(t, whole, span(), 0.01)
	require.True(t, eval[bool](b, `document.querySelector("#out").disabled`))

	x := eval[float64](b, `(() => { const r = document.querySelector("#scale").getBoundingClientRect(); return r.left + r.width / 2; })()`)
	y := eval[float64](b, `document.querySelector("#wave-5").scrollIntoView({ block: "center" }), document.querySelector("#wave-5").getBoundingClientRect().top + 5`)
	b.do(chromedp.MouseEvent(input.MouseMoved, x, y))
	require.Equal(t, "1m36s", b.text("#cursor"))
	b.do(chromedp.Click("#wave-5 .track"))
	require.InDelta(t, 30*1.1, span(), 0.01)
	b.do(chromedp.Focus("#text"), chromedp.KeyEvent("+"))
	require.InDelta(t, 30*1.1, span(), 0.01, "a key in a field is text")
}

// All of it works from the keyboard: Tab reaches a row, Enter opens and closes it.
func TestPageByKeyboard(t *testing.T) {
	b := openPage(t, sample(20), 1240)
	b.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter)) // the link to the resources
	for range 8 {                                                // the filter, the button that zooms in, the hooks, and the first wave
		b.do(chromedp.KeyEvent(kb.Tab))
	}
	require.Equal(t, "wave 1/6", b.text(":focus"))
	b.do(chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(kb.Tab))
	require.Equal(t, "Namespace shop/shop-1", b.text(":focus"))
	b.do(chromedp.KeyEvent(kb.Enter))
	require.Equal(t, "true", eval[string](b, "document.activeElement.ariaExpanded"))
	require.Equal(t, 1, b.count("#r1-more"))
	b.do(chromedp.KeyEvent(kb.Enter))
	require.Equal(t, 0, b.count("#r1-more"))

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
	require.Less(t, eval[int](b, "document.documentElement.outerHTML.length"), 700_000)
	nodes := `document.querySelectorAll("*").length`
	require.Less(t, eval[int](b, nodes), 2500)
	require.Equal(t, 25, b.count("#table tr.row"))
	b.click("table", "Show 100 of 350 more")
	require.Equal(t, 125, b.count("#table tr.row"))
	b.click("table", "wave 2/6 platform")
	b.click("failures", "Show Deployment shop/app-899")
	require.Equal(t, "Deployment shop/app-899", b.text(":focus"))

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
	require.Equal(t, 50, b.count("#table tr.group"))
	b.click("resources", "Next")
	require.Equal(t, "51–100 of 3,000", b.text("#resources .pager span"))
	require.Less(t, eval[int](b, nodes), 3000)
	b.picture("chain")
}

// A narrow window needs no scrolling to the side.
func TestNarrowPage(t *testing.T) {
	b := openPage(t, sample(50), 400)
	require.LessOrEqual(t, eval[int](b, "document.documentElement.scrollWidth"), 400)
	require.Equal(t, 19, b.count("#table tr.row .track .waiting, #table tr.row .track .failed"), "its bars are there")
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
