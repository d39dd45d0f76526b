/** The page of all clusters, and the page of one of them below its path. */

import t, { type Test } from 'tap'
import { keyFromText } from '../../../../lib/base/keys.ts'
import { Browser, findChromium } from '../../../support/browser/chromium.ts'
import { checkContrast } from '../../../support/browser/contrast.ts'
import {
  startFleet,
  type StartedFleet,
  startSharedEtcd,
  temporaryFolder,
  write,
} from '../../../support/fleet/started-fleet.ts'
import { ask, type HttpAnswer } from '../../../support/http/served.ts'
import { freePort } from '../../../support/program/ports.ts'

const chromium = await findChromium()
const maps = '/api/v1/namespaces/default/configmaps'
const browserAccept = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

async function start(t: Test): Promise<StartedFleet> {
  const folder = temporaryFolder(t)
  const { client, endpoint } = await startSharedEtcd(t, await freePort())
  for (const cluster of ['red', 'green']) {
    const metadata = { name: `of-${cluster}`, namespace: 'default', uid: cluster }
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { k: 'v' } }
    const key = keyFromText(`/${cluster}/configmaps/default/of-${cluster}`)
    const value = Buffer.from(JSON.stringify(object))
    await client.txn({ compares: [], success: [{ type: 'put', key, value }], failure: [] })
  }
  write(
    folder,
    'clusters.yaml',
    `clusters:
- name: red
- name: green
- {name: broken, etcd: 'https://127.0.0.1:1', etcd-cacert: missing.pem}
`,
  )
  return startFleet(t, folder, {
    clusters: 'clusters.yaml',
    args: ['--etcd', endpoint, '--prefix', '/{cluster}'],
  })
}

t.test('operators and callers have a page of all clusters, others the API', async t => {
  const { port, adminPort } = await start(t)
  const page = (of: number, path: string): Promise<HttpAnswer> =>
    ask(of, { path, headers: browserAccept })
  await ask(port, { path: `/clusters/red${maps}` })
  await ask(port, { path: `/clusters/broken${maps}` })
  const operators = await page(adminPort, '/')
  t.equal(operators.status, 200)
  t.match(operators.headers['content-security-policy'], /^default-src 'none'/)
  t.match(operators.body.toString(), /One cluster is broken[\s\S]*missing\.pem/)
  t.match(operators.body.toString(), /<a href="clusters\/red\/">red<\/a>[\s\S]*>1 \(100 %\)</)
  const callers = await page(port, '/')
  t.match(callers.body.toString(), 'href="clusters/green/"')
  t.notMatch(callers.body.toString(), 'missing.pem')
  const ofWebPage = await ask(port, { path: '/', headers: { ...browserAccept, Host: 'evil.test' } })
  t.notMatch(ofWebPage.body.toString(), 'green', 'a page that was led here by its own name')
  const listed = await ask(port, { path: '/clusters', headers: { Host: 'evil.test' } })
  t.match(JSON.parse(listed.body.toString()), { items: [] })
  t.equal((await ask(port, { path: '/' })).status, 404)
  const list = await ask(adminPort, { path: '/clusters' })
  t.match(JSON.parse(list.body.toString()), {
    items: [
      { name: 'broken', state: 'failed', problem: /missing\.pem/, problemSince: /^20\d\d-/ },
      { name: 'green', state: 'idle' },
      { name: 'red', state: 'awake', ready: true, reads: 1, readsFromMemory: 1 },
    ],
  })
  for (const of of [port, adminPort]) {
    const { status, headers } = await page(of, '/clusters/red')
    t.match({ status, location: headers['location'] }, { status: 307, location: 'red/' })
    t.equal((await page(of, '/clusters/red/')).status, 200)
  }
})

t.test('a browser shows a cluster below its path', { skip: chromium.skip }, async t => {
  const { port, adminPort } = await start(t)
  const browser = await Browser.start(t, chromium)
  for (const scheme of ['light', 'dark'] as const) {
    for (const width of [1240, 360]) {
      const fleet = await browser.open(`http://127.0.0.1:${adminPort}/`, {
        width,
        height: 800,
        scheme,
      })
      await fleet.until(`document.querySelectorAll('tbody tr').length === 3`)
      await checkContrast(t, fleet, scheme)
      const isWider = 'document.documentElement.scrollWidth > document.documentElement.clientWidth'
      t.equal(await fleet.value(isWider), false, `${width} px are enough`)
      t.strictSame(fleet.complaints, [])
    }
  }
  const callers = await browser.open(`http://127.0.0.1:${port}/`, { width: 1240, height: 800 })
  await callers.until(`document.querySelector('a[href="clusters/red/"]') !== null`)
  await callers.value(`document.querySelector('a[href="clusters/red/"]').click()`)
  await callers.until(`location.pathname === '/clusters/red/' && document.title === 'Watchglass'`)
  await callers.until(`document.getElementById('live-figures') !== null`)
  await callers.value(`location.hash = '#/configmaps'`)
  await callers.until(`document.getElementById('objects-content').textContent.includes('of-red')`)
  await callers.value(`location.hash = '#/configmaps/default/of-red'`)
  await callers.until(
    `document.querySelector('pre')?.textContent.includes('name: of-red') === true`,
  )
  const asked = callers.requests.filter(url => !url.startsWith('data:'))
  const outside = asked.slice(1).filter(url => !url.includes('/clusters/red/'))
  t.strictSame(
    outside,
    [`http://127.0.0.1:${port}/`].slice(0, outside.length),
    'all below its path',
  )
  t.strictSame(callers.complaints, [])
})
