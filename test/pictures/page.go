package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"slices"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// The part of the page that is shown.
const pageWidth, pageHeight = 1200, 1240

// screenshot returns the top of a page as PNG, in the light or the dark scheme.
func screenshot(ctx context.Context, file, scheme string) ([]byte, error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WSURLReadTimeout(time.Minute))
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	defer stop()
	ctx, stop = chromedp.NewContext(ctx)
	defer stop()
	var shot []byte
	err := chromedp.Run(ctx,
		emulation.SetDeviceMetricsOverride(pageWidth, pageHeight, 1, false),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		chromedp.Navigate("file://"+file), chromedp.WaitReady("#table tbody"),
		chromedp.ActionFunc(func(ctx context.Context) (err error) {
			shot, err = page.CaptureScreenshot().WithClip(&page.Viewport{Width: pageWidth, Height: pageHeight, Scale: 1}).WithOptimizeForSpeed(false).Do(ctx)
			return err
		}))
	if err != nil {
		return nil, err
	}
	return reduced(shot)
}

// reduced returns a picture with its 256 most frequent colours, and each other one as the
// nearest of them: a third of the size.
func reduced(shot []byte) ([]byte, error) {
	full, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		return nil, err
	}
	counts, size := map[color.Color]int{}, full.Bounds()
	for y := range size.Dy() {
		for x := range size.Dx() {
			counts[full.At(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(counts), func(a, b color.Color) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	few := image.NewPaletted(size, colours[:min(len(colours), 256)])
	draw.Draw(few, size, full, image.Point{}, draw.Src)
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, few)
	return out.Bytes(), err
}
