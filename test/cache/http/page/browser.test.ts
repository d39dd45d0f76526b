/** The page in a real browser. */

import * as http from 'node:http'
import t from 'tap'
import type { Test } from 'tap'
import { keyFromText } from '../../../../lib/base/keys.ts'
import { count } from '../../../../lib/cache/http/page/format.ts'
import { Figures } from '../../../../lib/cache/http/page/figures.ts'
import { Browser, findChromium, type Page } from '../../../support/browser/chromium.ts'
import { checkContrast } from '../../../support/browser/contrast.ts'
import { ask, caughtUp, type Served, startServed } from '../../../support/http/served.ts'
import { answeredHere, configMap, startProxied } from '../../../support/upstream/proxied.ts'

const chromium = await findChromium()
const { skip } = chromium
const desk = { width: 1240, height: 1000 }
const maps = '/api/v1/namespaces/default/configmaps'
const hostile = '<img src=x onerror="document.title=1">/1.0'

async function put({ client }: Served, name: string): Promise<void> {
  const key = keyFromText(`/registry/configmaps/default/${name}`)
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } }
  const value = Buffer.from(JSON.stringify(object))
  await client.txn({ compares: [], success: [{ type: 'put', key, value }], failure: [] })
}

/** A service with some objects, some reads behind it, and open watches. */
async function startUsed(t: Test): Promise<Served & { readonly url: string }> {
  const served = await startServed(t, { budgetBytes: 64 * 1024 * 1024 })
  for (const name of ['a', 'b', 'c']) await put(served, name)
  await caughtUp(served, 4)
  const { port } = served.service
  await ask(port, { path: maps })
  await ask(port, { path: `${maps}?resourceVersion=0` })
  await ask(port, { path: `${maps}/a` })
  for (const userAgent of ['kubelet/v1.36', hostile]) {
    const options = { port, path: `${maps}?watch=1`, headers: { 'user-agent': userAgent } }
    const request = http.get(options)
    t.teardown(() => request.destroy())
    await new Promise(resolve => request.on('response', resolve))
  }
  return { ...served, url: `http://127.0.0.1:${port}/` }
}

interface Shown {
  readonly metric: string
  readonly value: number
  readonly text: string
}

const shownFigures = `[...document.querySelectorAll('data[data-metric]')].map(one =>
  ({ metric: one.dataset.metric, value: Number(one.value), text: one.textContent }))`

/** The sum of the series that a figure says it is the sum of. */
function sumOf(figures: Figures, metric: string): number {
  const [, name = '', labels = ''] = /^(\w+)(?:\{(.*)\})?$/.exec(metric) ?? []
  const where = [...labels.matchAll(/(\w+)=("(?:[^"\\]|\\.)*")/g)].map(
    ([, label = '', text = '']) => [label, JSON.parse(text) as string] as const,
  )
  return figures.sum(name, Object.fromEntries(where))
}

/** The figures that are shown and that /metrics did not have, before or after; what changes by
 *  itself all the time is left out. */
function otherFigures(shown: readonly Shown[], before: Figures, after: Figures): string[] {
  const others: string[] = []
  for (const { metric, value } of shown) {
    if (/^(?:process_|nodejs_)/.test(metric)) continue
    const [earlier, later] = [sumOf(before, metric), sumOf(after, metric)]
    const isBetween = Math.min(earlier, later) <= value && value <= Math.max(earlier, later)
    if (!isBetween) others.push(`${metric}: ${value}, not from ${earlier} to ${later}`)
  }
  return others
}

t.test('a browser shows what /metrics says, live, and asks nobody else', { skip }, async t => {
  const browser = await Browser.start(t, chromium)
  const served = await startUsed(t)
  const { url } = served
  const figuresOfNow = async (): Promise<Figures> =>
    new Figures(await (await fetch(`${url}metrics`)).text())
  let page: Page
  let shown: Shown[]
  let others: string[]
  // A collection of garbage between two looks lets memory become less, or more and less.
  for (let looks = 1; ; looks++) {
    const before = await figuresOfNow()
    page = await browser.open(url, desk)
    shown = await page.value<Shown[]>(shownFigures)
    others = otherFigures(shown, before, await figuresOfNow())
    if (others.length === 0 || looks === 5) break
  }
  t.ok(shown.length > 60, `${shown.length} figures`)
  t.strictSame(others, [], 'each figure is that of /metrics')
  for (const { metric, value, text } of shown) {
    if (/(?:entries|_total|watches)(?:\{|$)/.test(metric) && !/bytes|seconds/.test(metric)) {
      t.equal(text, count(value), metric)
    }
  }
  const clients = await page.value<string[]>(
    `[...document.querySelectorAll('.client')].map(one => one.textContent)`,
  )
  t.strictSame(clients.toSorted(), [hostile, 'kubelet/v1.36'])

  await page.value(`document.querySelector('#quiet-resources').open = true`)
  await page.value(`document.querySelector('#quiet-resources summary').focus()`)
  await put(served, 'd')
  const figure = `[...document.querySelectorAll('#resources tbody tr')]
    .find(row => row.cells[0].textContent.trim() === 'configmaps').cells[2].textContent`
  await page.until(`${figure} === '4'`)
  t.ok(await page.value(`document.querySelector('#quiet-resources').open`), 'what is open stays so')
  t.equal(await page.value(`document.activeElement.tagName`), 'SUMMARY', 'the focus stays')
  await page.value(`document.querySelector('#pause').click()`)
  await put(served, 'e')
  t.equal(await page.value(`document.querySelector('#live-state').textContent`), 'Paused')

  t.strictSame([...new Set(page.requests.map(one => new URL(one).origin))], [new URL(url).origin])
  t.strictSame(page.complaints, [])
  t.equal(await page.value('document.title'), 'Watchglass')
  await checkSpoken(t, page)
  await checkKeyboard(t, page)
  for (const scheme of ['light', 'dark'] as const) {
    const phone = await browser.open(url, { width: 360, height: 780, scheme })
    const widest = await phone.value<number>('document.scrollingElement.scrollWidth')
    t.ok(widest <= 360, `${widest} pixels wide on a phone`)
    await checkContrast(t, phone, scheme)
  }
  const plain = await browser.open(url, { ...desk, isScriptOff: true })
  const rows = (await plain.spoken()).filter(({ role }) => role === 'row')
  t.ok(rows.length > 20, 'the tables need no script')
})

/** Every table, plot, button and link has a name. */
async function checkSpoken(t: Test, page: Page): Promise<void> {
  const spoken = await page.spoken()
  for (const role of ['table', 'image', 'button', 'link', 'heading', 'region', 'navigation']) {
    const nodes = spoken.filter(node => node.role === role)
    t.ok(nodes.length > 0, `there is a ${role}`)
    for (const { name } of nodes) t.not(name, '', `a ${role} has a name`)
  }
}

async function checkKeyboard(t: Test, page: Page): Promise<void> {
  await page.value('document.activeElement.blur(); scrollTo(0, 0)')
  await page.value(`document.querySelector('.skip').focus()`)
  const names: string[] = []
  for (let i = 0; i < 7; i++) {
    await page.press('Tab')
    names.push(await page.value<string>('document.activeElement.textContent.trim()'))
  }
  t.strictSame(names, ['Resume', 'Objects', 'Kinds', 'Requests', 'Watches', 'Memory', 'Process'])
  await page.press('Enter')
  t.equal(await page.value('location.hash'), '#process')
}

t.test('the switch asks twice', { skip }, async t => {
  const browser = await Browser.start(t, chromium)
  const adminListen = { protocol: 'http', host: '127.0.0.1', port: 0 } as const
  const objects = [[maps, configMap('a', '1')]] as const
  const proxied = await startProxied(t, { objects, service: { adminListen } })
  await answeredHere(proxied, '', 'v1', 'configmaps')
  const { service } = proxied
  const page = await browser.open(`http://127.0.0.1:${service.adminPort}/`, desk)
  const isOff = (): boolean | undefined => service.readSwitch?.isSwitchedOff
  const click = (button: string): Promise<void> =>
    page.value(`document.querySelector('#pass-through ${button}').click()`)
  const stateText = `document.querySelector('#pass-through .badge').textContent`
  await click('.ask')
  t.equal(isOff(), false, 'one click does nothing')
  await page.press('Escape')
  t.ok(await page.value(`document.querySelector('#pass-through .sure').hidden`))
  await click('.ask')
  await click('.no')
  t.equal(isOff(), false)
  await click('.ask')
  await click('.yes')
  await page.until(`${stateText}.startsWith('on')`)
  t.equal(isOff(), true)
  await click('.ask')
  await click('.yes')
  await page.until(`${stateText}.startsWith('off')`)
  t.equal(isOff(), false)
  t.strictSame(page.complaints, [])
  const rows = await page.value<string[]>(
    `[...document.querySelectorAll('#upstream tbody tr')].map(row => row.textContent.replace(/\\s+/g, ' ').trim())`,
  )
  t.ok(rows.some(row => row.includes('healthy')))
  const plain = { ...desk, isScriptOff: true }
  const still = await browser.open(`http://127.0.0.1:${service.adminPort}/`, plain)
  const buttons = (await still.spoken()).filter(({ role }) => role === 'button')
  t.strictSame(buttons, [], 'without script there is no button that does nothing')
})
