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

async function putAt({ client }: Served, path: string, object: object): Promise<void> {
  const key = keyFromText(`/registry/${path}`)
  const value = Buffer.from(JSON.stringify(object))
  await client.txn({ compares: [], success: [{ type: 'put', key, value }], failure: [] })
}

/** Objects on three pages, one with a hostile name. */
async function startFilled(t: Test): Promise<Served & { readonly url: string }> {
  const served = await startServed(t)
  for (let i = 0; i < 260; i++) await put(served, `m-${i}`, {})
  await put(served, hostile, { text: hostile })
  await put(served, hostile, { text: 'second' })
  await putEvent(served, 'e1', hostile)
  await putAt(served, 'namespaces/default', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'default', uid: 'default' },
  })
  await caughtUp(served, 265)
  return { ...served, url: `http://127.0.0.1:${served.service.port}/` }
}

t.test('from kinds to objects to one object, live', { skip }, async t => {
  const browser = await Browser.start(t, chromium)
  const served = await startFilled(t)
  const page = await browser.open(`${served.url}#/`, desk)
  await page.until(`${rows}.includes('configmaps')`)
  await page.value(`document.querySelector('a[href="#/configmaps"]').click()`)
  await checkList(t, page, served)
  await page.value(`document.querySelector('#objects tbody th a').click()`)
  await checkObject(t, page, served)

  t.strictSame(page.complaints, [])
  const origins = [...new Set(page.requests.map(one => new URL(one).origin))]
  t.strictSame(origins, [new URL(served.url).origin], 'nobody else is asked')
  await page.value('history.back()')
  await page.until(`${rows}.length === 1`)
  t.equal(await page.value(`document.querySelector('input[type=search]').value`), 'onerror')
  for (const scheme of ['light', 'dark'] as const) {
    const address = `${served.url}#/configmaps/default/${encodeURIComponent(hostile)}`
    const look = { width: 360, height: 780, scheme }
    const phone = await browser.open(address, look)
    await phone.until(inContent('third'))
    await checkPhone(t, phone, scheme)
    // The same tab: over HTTP/1.1 a browser has six connections for all of them.
    await phone.value(`location.hash = '#/configmaps?search=m-2&by=namespace'`)
    await phone.until(`document.querySelectorAll('.groups button').length === 1`)
    await checkPhone(t, phone, scheme)
    await phone.go('about:blank')
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

async function checkPhone(t: Test, phone: Page, scheme: 'light' | 'dark'): Promise<void> {
  const widest = await phone.value<number>('document.scrollingElement.scrollWidth')
  t.ok(widest <= 360, `${widest} pixels wide on a phone`)
  await checkContrast(t, phone, scheme)
}

/** Types into the search. */
const searched = (text: string): string => `(() => {
  const box = document.querySelector('input[type=search]')
  box.value = ${JSON.stringify(text)}
  box.dispatchEvent(new Event('input'))
})()`

const pressed = (title: string): string =>
  `[...document.querySelectorAll('button')].find(one => one.textContent === '${title}').click()`

/** Pages of a list; what is searched, sorted and counted by the server, new and gone. */
async function checkList(t: Test, page: Page, served: Served): Promise<void> {
  await page.until(`document.getElementById('objects-state').textContent === 'Live'`)
  t.equal(await page.value(`${rows}.length`), 100)
  t.ok(await page.value(inContent('261 at revision ')))
  t.equal(await page.value(`${rows}[0]`), hostile, 'a name is text')
  await page.value(pressed('Next'))
  await page.until(`${inContent('Page 2 of 3')} && ${rows}[0] !== ${JSON.stringify(hostile)}`)
  t.equal(await page.value('location.hash'), '#/configmaps?page=2')
  await page.value('history.back()')
  await page.until(`${rows}[0] === ${JSON.stringify(hostile)}`)
  await page.value(searched('M-1'))
  await page.until(inContent('111 of 261 at revision '))
  t.equal(await page.value('location.hash'), '#/configmaps?search=M-1')
  const sort = `[...document.querySelectorAll('th')].find(one => one.textContent === 'Name')`
  await page.value(`${sort}.querySelector('button').focus()`)
  await page.press('Enter')
  await page.press('Enter')
  await page.until(`${rows}[0] === 'm-199' && ${rows}[1] === 'm-198'`)
  t.equal(await page.value(`${sort}.getAttribute('aria-sort')`), 'descending')
  t.equal(await page.value(`document.activeElement.textContent`), 'Name', 'the focus stays')
  await put(served, 'm-1new', {})
  await page.until(`${rows}[0] === 'm-1new'`)
  const range = singleKey(keyFromText('/registry/configmaps/default/m-199'))
  await served.client.txn({ compares: [], success: [{ type: 'delete', range }], failure: [] })
  await page.until(`${rows}[1] === 'm-198'`)
  await page.value(`document.activeElement.blur()`)
  await page.press('/')
  t.equal(await page.value(`document.activeElement.type`), 'search', '/ leads to the search')
  await page.until(`document.querySelectorAll('#namespaces option').length === 1`)
  t.equal(await page.value(`document.querySelector('#namespaces option').value`), 'default')
  await page.value(`(() => {
    const by = document.querySelector('select')
    by.value = 'namespace'
    by.dispatchEvent(new Event('change'))
  })()`)
  await page.until(`document.querySelector('.groups button')?.textContent === 'default 111'`)
  await page.value(`document.querySelector('.groups button').click()`)
  await page.until(`document.querySelector('.groups [aria-pressed=true]') !== null`)
  t.match(await page.value('location.hash'), /where=namespace%3D%22default%22/)
  await page.value(`document.querySelector('.groups button').click()`)
  await page.until(`!location.hash.includes('where')`)
  await page.value(searched('onerror'))
  await page.until(`${rows}.length === 1`)
  const roles = [
    'searchbox',
    'combobox',
    'textbox',
    'checkbox',
    'table',
    'button',
    'link',
    'region',
  ]
  for (const role of roles) {
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

t.test('an object leads to its owners and to what it uses', { skip }, async t => {
  const browser = await Browser.start(t, chromium)
  const served = await startServed(t)
  await putAt(served, 'pods/default/p', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'p',
      namespace: 'default',
      uid: 'p',
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: 'r' }],
    },
    spec: {
      nodeName: 'n1',
      containers: [{ name: 'c', envFrom: [{ configMapRef: { name: 'settings' } }] }],
      volumes: [{ name: 'v', secret: { secretName: 's' } }],
    },
  })
  await caughtUp(served, 1)
  const url = `http://127.0.0.1:${served.service.port}/`
  const page = await browser.open(`${url}#/pods/default/p`, desk)
  await page.until(inContent('nodeName: n1'))
  const links = `[...document.querySelectorAll('.related a')].map(one => one.getAttribute('href'))`
  t.strictSame(await page.value(links), [
    '#/replicasets.apps/default/r',
    '#/nodes//n1',
    '#/secrets/default/s',
    '#/configmaps/default/settings',
  ])
  await page.value(pressed('Copy name'))
  await page.until(`document.body.textContent.includes('Copied')`)
  const list = await browser.open(`${url}#/pods?columns=wide`, desk)
  await list.until(`document.querySelector('#objects tbody a[href="#/nodes//n1"]') !== null`)
  t.strictSame([...page.complaints, ...list.complaints], [])
})
