/** Contrast of a page's texts, measured in the browser. */

import type { Test } from 'tap'
import type { Page } from './chromium.ts'

/** Texts have at least the contrast that WCAG asks for: 4.5. */
export async function checkContrast(t: Test, page: Page, scheme: string): Promise<void> {
  const worst = await page.value<{ ratio: number; text: string }>(`(() => {
    const rgb = text => text.match(/[\\d.]+/g).map(Number)
    const light = ([r, g, b]) => {
      const [x, y, z] = [r, g, b].map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
      return 0.2126 * x + 0.7152 * y + 0.0722 * z
    }
    const ground = one => {
      for (let at = one; at; at = at.parentElement) {
        const colour = rgb(getComputedStyle(at).backgroundColor)
        if (colour.length === 3 || colour[3] > 0) return colour
      }
      return rgb(getComputedStyle(document.body).backgroundColor)
    }
    let worst = { ratio: 21, text: '' }
    for (const one of document.querySelectorAll('p, h1, h2, h3, th, td, li, a, .badge, .soft, data, button, summary, pre, del, ins, label')) {
      if (!one.textContent.trim() || !one.checkVisibility()) continue
      const pair = [light(rgb(getComputedStyle(one).color)), light(ground(one))]
      const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05)
      if (ratio < worst.ratio) worst = { ratio, text: one.textContent.trim().slice(0, 40) }
    }
    return worst
  })()`)
  t.ok(worst.ratio >= 4.5, `${scheme}: contrast ${worst.ratio.toFixed(1)} of "${worst.text}"`)
}
