/** Objects on the page, in a real browser: each step is asked for as a person would. */

import t from 'tap'
import type { Test } from 'tap'
import { keyFromText, singleKey } from '../../../../lib/base/keys.ts'
import { Browser, findChromium, type Page } from '../../../support/browser/chromium.ts'
import { checkContrast } from '../../../support/browser/contrast.ts'
import { caughtUp, type Served, startServed } from '../../../support/http/served.ts'

const chromium = await findChromium()
const { skip } = chromium
const desk = { width: 1240, height: 1000 }
/** Such a name cannot be created by way of an API server, but be in etcd. */
const hostile = '<img src=x onerror="document.title=1">'

async function put({ client }: Served, name: string, data: object): Promise<void> {
  const key = keyFromText(`/registry/configmaps/default/${name}`)
  const metadata = { name, namespace: 'default', uid: name }
  const value = Buffer.from(JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }))
  await client.txn({ compares: [], success: [{ type: 'put', key, value }], failure: [] })
}

async function putEvent({ client }: Served, name: string, about: string): Promise<void> {
  const key = keyFromText(`/registry/events/default/${name}`)
  const event = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace: 'default', uid: name },
    involvedObject: { kind: 'ConfigMap', name: about, namespace: 'default' },
    reason: 'Looked',
    message: hostile,
    type: 'Normal',
  }
  const value = Buffer.from(JSON.stringify(event))
  await client.txn({ compares: [], success: [{ type: 'put', key, value }], failure: [] })
}

const rows = `[...document.querySelectorAll('#objects tbody tr')].map(row => row.querySelector('th').textContent)`
const inContent = (text: string): string =>
  `document.getElementById('objects-content').textContent.includes(${JSON.stringify(text)})`

/** Objects on two chunks, one with a hostile name. */
async function startFilled(t: Test): Promise<Served & { readonly url: string }> {
  const served = await startServed(t)
  for (let i = 0; i < 260; i++) await put(served, `m-${i}`, {})
  await put(served, hostile, { text: hostile })
  await put(served, hostile, { text: 'second' })
  await putEvent(served, 'e1', hostile)
  await caughtUp(served, 264)
  return { ...served, url: `http://127.0.0.1:${served.service.port}/` }
}

t.test('from kinds to objects to one object, live', { skip }, async t => {
  const browser = await Browser.start(t, chromium)
  const served = await startFilled(t)
  const page = await browser.open(`${served.url}#/`, desk)
  await page.until(`${rows}.includes('configmaps')`)
  await page.value(`document.querySelector('a[href="#/configmaps"]').click()`)
  await checkList(t, page, served)
  await page.value(`document.querySelector('#objects tbody a').click()`)
  await checkObject(t, page, served)

  t.strictSame(page.complaints, [])
  const origins = [...new Set(page.requests.map(one => new URL(one).origin))]
  t.strictSame(origins, [new URL(served.url).origin], 'nobody else is asked')
  await page.value('history.back()')
  await page.until(`${rows}.length > 200`)
  for (const scheme of ['light', 'dark'] as const) {
    const address = `${served.url}#/configmaps/default/${encodeURIComponent(hostile)}`
    const phone = await browser.open(address, { width: 360, height: 780, scheme })
    await phone.until(inContent('third'))
    const widest = await phone.value<number>('document.scrollingElement.scrollWidth')
    t.ok(widest <= 360, `${widest} pixels wide on a phone`)
    await checkContrast(t, phone, scheme)
  }
  const missing = await browser.open(`${served.url}#/configmaps/default/nobody`, {
    width: 1100,
    height: 900,
  })
  await missing.until(
    `document.getElementById('objects-state').textContent === 'configmaps "nobody" not found'`,
  )
  t.equal(await missing.value(`document.querySelectorAll('#objects h3').length`), 0, 'nothing else')
})

/** All of a list, at one revision; what is searched, sorted, new and gone. */
async function checkList(t: Test, page: Page, served: Served): Promise<void> {
  await page.until(`document.getElementById('objects-state').textContent === 'Live'`)
  t.equal(await page.value(`${rows}.length`), 250)
  t.ok(await page.value(inContent('250 loaded, 11 more at revision ')))
  t.equal(await page.value(`${rows}[0]`), hostile, 'a name is text')
  await put(served, 'm-new', {})
  await page.until(`${rows}.includes('m-new')`)
  await page.value(
    `[...document.querySelectorAll('button')].find(one => one.textContent === 'Load all').click()`,
  )
  await page.until(inContent('262 loaded: all of them'))
  await page.value(`(() => {
    const box = document.querySelector('input[type=search]')
    box.value = 'm-1'
    box.dispatchEvent(new Event('input'))
  })()`)
  await page.until(inContent('111 found in 262'))
  const sort = `[...document.querySelectorAll('th')].find(one => one.textContent === 'Name')`
  await page.value(`${sort}.querySelector('button').focus()`)
  await page.press('Enter')
  await page.press('Enter')
  t.equal(await page.value(`${sort}.getAttribute('aria-sort')`), 'descending')
  t.strictSame(await page.value(`${rows}.slice(0, 2)`), ['m-199', 'm-198'])
  const range = singleKey(keyFromText('/registry/configmaps/default/m-199'))
  await served.client.txn({ compares: [], success: [{ type: 'delete', range }], failure: [] })
  await page.until(`${rows}[0] === 'm-198'`)
  await page.value(`(() => {
    const box = document.querySelector('input[type=search]')
    box.value = 'onerror'
    box.dispatchEvent(new Event('input'))
  })()`)
  await page.until(`${rows}.length === 1`)
  for (const role of ['searchbox', 'textbox', 'checkbox', 'table', 'button', 'link', 'region']) {
    const nodes = (await page.spoken()).filter(node => node.role === role)
    t.ok(nodes.length > 0, `there is a ${role}`)
    t.notOk(
      nodes.some(({ name }) => name === ''),
      `each ${role} has a name`,
    )
  }
}

/** One object with its events and its changes, before somebody looked and after. */
async function checkObject(t: Test, page: Page, served: Served): Promise<void> {
  await page.until(inContent('Looked'))
  await page.until(inContent('created'))
  t.equal(await page.value(`document.getElementById('objects-title').textContent`), hostile)
  t.equal(await page.value(`document.activeElement.id`), 'objects-title', 'the focus follows')
  t.equal(await page.value('document.title'), `${hostile} – Watchglass`)
  const changes = `[...document.querySelectorAll('.changes > li')].map(one => one.textContent)`
  t.strictSame(await page.value(changes), [
    `Revision 263.data.text ${JSON.stringify(hostile)} "second"`,
    'Revision 262created',
  ])
  t.match(
    await page.value(`document.querySelector('pre').textContent`),
    /^apiVersion: v1\ndata:\n {2}text: second\n/,
  )
  await put(served, hostile, { text: 'third' })
  await page.until(`document.querySelector('pre').textContent.includes('text: third')`)
  t.match(await page.value(`${changes}[0]`), /\.data\.text "second" "third"$/)
  await putEvent(served, 'e2', hostile)
  await page.until(`document.querySelectorAll('#objects tbody tr').length === 2`)
  t.equal(await page.value(`document.querySelectorAll('#objects img').length`), 0)
}
