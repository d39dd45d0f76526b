import * as http from 'node:http'
import t, { type Test } from 'tap'
import { keyFromText, singleKey } from '../../../../lib/base/keys.ts'
import type { Client } from '../../../../lib/etcd/client.ts'
import { systemClock } from '../../../../lib/cache/ops/system.ts'
import { type EmbeddedEtcd, startEmbeddedEtcd } from '../../../../lib/etcd-server/embedded.ts'
import {
  startFleet,
  startSharedEtcd,
  temporaryFolder,
  write,
} from '../../../support/fleet/started-fleet.ts'
import { ask } from '../../../support/http/served.ts'
import { freePort } from '../../../support/program/ports.ts'
import { silentLogger } from '../../../support/silent-logger.ts'

const maps = '/api/v1/configmaps'

async function put(client: Client, cluster: string, ...names: string[]): Promise<void> {
  for (const name of names) {
    const metadata = { name, namespace: 'default', uid: `${cluster}-${name}` }
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { k: 'v' } }
    const key = keyFromText(`/${cluster}/configmaps/default/${name}`)
    const value = Buffer.from(JSON.stringify(object))
    await client.txn({ compares: [], success: [{ type: 'put', key, value }], failure: [] })
  }
}

async function remove(client: Client, cluster: string, name: string): Promise<void> {
  const key = keyFromText(`/${cluster}/configmaps/default/${name}`)
  await client.txn({
    compares: [],
    success: [{ type: 'delete', range: singleKey(key) }],
    failure: [],
  })
}

interface Row {
  readonly cluster: string
  readonly name: string
  readonly uid: string
}

interface Document {
  readonly type: string
  readonly clusters?: readonly { readonly name: string; readonly revision: string }[]
  readonly ended?: readonly string[]
  readonly unanswered?: readonly { readonly name: string; readonly reason: string }[]
  readonly total: number
  readonly matched: number
  readonly left?: readonly string[]
  readonly rows?: readonly (Row & { readonly index: number; readonly row: Row })[]
  readonly groups?: readonly { readonly values: readonly string[]; readonly count: number }[]
  readonly removed?: readonly (readonly string[])[]
}

/** The page of a client that does as docs/VIEWS.md says. */
class LivePage {
  readonly documents: Document[] = []
  rows: Row[] = []
  groups: Map<string, number> = new Map()
  unanswered: readonly string[] = []
  clusters: Set<string> = new Set()
  status: number | undefined
  isOver = false
  readonly #request: http.ClientRequest
  #wake: () => void = () => {}

  constructor(t: Test, port: number, path: string, headers: http.OutgoingHttpHeaders = {}) {
    let rest = ''
    this.#request = http.get({ host: '127.0.0.1', port, path, headers, agent: false }, response => {
      this.status = response.statusCode
      response.setEncoding('utf8').on('data', (text: string) => {
        const lines = `${rest}${text}`.split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) if (line !== '') this.#take(line.replace(/^data: /, ''))
        this.#wake()
      })
      response.on('close', () => {
        this.isOver = true
        this.#wake()
      })
    })
    this.#request.on('error', () => {})
    t.teardown(() => this.close())
  }

  get shown(): string {
    return this.rows.map(({ cluster, name }) => `${cluster}/${name}`).join(' ')
  }

  /** Resolves when it is so, or the answer is over. */
  async until(is: (page: this) => boolean): Promise<void> {
    while (!is(this) && !this.isOver) await new Promise<void>(resolve => (this.#wake = resolve))
  }

  close(): void {
    this.#request.destroy()
  }

  #take(line: string): void {
    const document = JSON.parse(line) as Document
    this.documents.push(document)
    const { type, rows = [], left = [], groups = [], removed = [] } = document
    if (type === 'PAGE') this.rows = [...rows]
    if (type === 'CHANGE') {
      const fresh = rows.map(({ row }) => `${row.cluster}/${row.uid}`)
      const gone = new Set([...left, ...fresh])
      this.rows = this.rows.filter(({ cluster, uid }) => !gone.has(`${cluster}/${uid}`))
      for (const { index, row } of rows) this.rows.splice(index, 0, row)
    }
    for (const { values, count } of groups) this.groups.set(values.join(), count)
    for (const values of removed) this.groups.delete(values.join())
    for (const { name } of document.clusters ?? []) this.clusters.add(name)
    for (const name of document.ended ?? []) this.clusters.delete(name)
    this.unanswered =
      document.unanswered?.map(({ name, reason }) => `${name} ${reason}`) ?? this.unanswered
  }
}

t.test('rows of all clusters enter, change and leave one live page', async t => {
  const folder = temporaryFolder(t)
  const { client, endpoint } = await startSharedEtcd(t, await freePort())
  await put(client, 'prod-a', 'b', 'd', 'f')
  await put(client, 'prod-b', 'c', 'e')
  await put(client, 'test-c', 'a')
  const listed = (...names: string[]): void =>
    write(folder, 'clusters.yaml', `clusters:\n${names.map(name => `- name: ${name}\n`).join('')}`)
  listed('prod-a', 'prod-b', 'test-c')
  const fleet = await startFleet(t, folder, {
    clusters: 'clusters.yaml',
    args: ['--etcd', endpoint, '--prefix', '/{cluster}'],
  })
  const question = 'columns=name&sort=name&pageSize=4'
  const plain = async (selection: string): Promise<string> => {
    const path = `/views/clusters/${selection}${maps}?${question}`
    const { body } = await ask(fleet.port, { path })
    const { rows } = JSON.parse(body.toString()) as { rows: Row[] }
    return rows.map(({ cluster, name }) => `${cluster}/${name}`).join(' ')
  }
  await plain('prod-a,prod-b')
  const path = `/views/clusters/*${maps}?${question}&watch=1`
  const page = new LivePage(t, fleet.port, path)
  await page.until(({ documents }) => documents.length > 0)
  t.equal(page.status, 200)
  t.equal(page.shown, 'prod-a/b prod-b/c prod-a/d prod-b/e')
  t.strictSame([...page.clusters], ['prod-a', 'prod-b'])
  t.match(page.documents[0], { kind: 'FleetView', total: 5, matched: 5, remaining: 1 })
  t.strictSame(page.unanswered, ['test-c Idle'], 'patterns wake none')

  await put(client, 'prod-b', 'a')
  await page.until(({ shown }) => shown.startsWith('prod-b/a'))
  t.equal(page.shown, 'prod-b/a prod-a/b prod-b/c prod-a/d')
  t.match(page.documents.at(-1), { left: ['prod-b/prod-b-e'], rows: [{ index: 0 }], total: 6 })
  await remove(client, 'prod-a', 'd')
  await page.until(({ shown }) => shown.endsWith('prod-b/e'))
  await put(client, 'prod-a', 'b')
  await page.until(
    ({ documents }) => documents.at(-1)?.rows?.some(({ index }) => index === 1) === true,
  )
  t.equal(page.shown, await plain('prod-*'))

  await plain('test-c')
  await page.until(({ clusters }) => clusters.has('test-c'))
  t.equal(page.shown, await plain('*'), 'a cluster that wakes joins')
  t.strictSame(page.unanswered, [])

  listed('prod-a', 'test-c')
  await fleet.reload()
  await page.until(({ clusters }) => !clusters.has('prod-b'))
  t.equal(page.shown, 'test-c/a prod-a/b prod-a/f', 'one that goes leaves')

  const counts = new LivePage(t, fleet.port, `/views/clusters/*${maps}?countBy=name&watch=1`)
  await counts.until(({ groups }) => groups.size === 3)
  await put(client, 'test-c', 'b')
  await counts.until(({ groups }) => groups.get('b') === 2)
  await remove(client, 'prod-a', 'f')
  await counts.until(({ groups }) => !groups.has('f'))
  t.strictSame(Object.fromEntries(counts.groups), { a: 1, b: 2 })

  const events = new LivePage(t, fleet.port, path, { accept: 'text/event-stream' })
  await events.until(({ documents }) => documents.length > 0)
  t.equal(events.shown, 'test-c/a prod-a/b test-c/b', 'as server-sent events')
  // It is told in rounds, and may not have heard of the last change yet.
  await page.until(({ shown }) => shown === events.shown)
  t.equal(page.shown, events.shown, 'the page of lines has the same')

  await fleet.stop()
  await page.until(({ isOver }) => isOver)
  t.ok(page.isOver, 'the process ends')
})

t.test('a cluster that stops answering is told, and comes back', async t => {
  const folder = temporaryFolder(t)
  const { client, endpoint } = await startSharedEtcd(t, await freePort())
  await put(client, 'good', 'b')
  const port = await freePort()
  const started = (): Promise<EmbeddedEtcd> =>
    startEmbeddedEtcd({
      listen: { address: `127.0.0.1:${port}`, tlsFiles: undefined, prefixes: [''] },
      load: undefined,
      clock: systemClock,
      logger: silentLogger,
    })
  let etcd = await started()
  t.teardown(() => etcd.close())
  await put(etcd.createClient(), 'other', 'a')
  write(
    folder,
    'clusters.yaml',
    `clusters:\n- {name: good, etcd: '${endpoint}'}\n- {name: other, etcd: 'http://127.0.0.1:${port}'}\n`,
  )
  const fleet = await startFleet(t, folder, {
    clusters: 'clusters.yaml',
    args: ['--prefix', '/{cluster}'],
  })
  const path = `/views/clusters/good,other,none${maps}?columns=name&sort=name&watch=1`
  const page = new LivePage(t, fleet.port, path)
  await page.until(({ shown }) => shown === 'other/a good/b')
  t.strictSame(page.unanswered, ['none NotFound'])
  await etcd.close()
  await page.until(({ unanswered }) => unanswered.some(one => one.startsWith('other ')))
  await put(client, 'good', 'c')
  await page.until(({ shown }) => shown.endsWith('good/b good/c'))
  t.ok(page.shown.endsWith('good/b good/c'), 'the others go on')
  etcd = await started()
  await put(etcd.createClient(), 'other', 'z')
  await page.until(({ shown }) => shown === 'good/b good/c other/z')
  await page.until(({ unanswered }) => unanswered.length === 1)
  t.equal(page.shown, 'good/b good/c other/z')
  t.strictSame(page.unanswered, ['none NotFound'])
})

t.test('strangers hold no live view, and nobody more than some', async t => {
  const folder = temporaryFolder(t)
  const { client, endpoint } = await startSharedEtcd(t, await freePort())
  await put(client, 'a', 'one')
  write(folder, 'tokens.csv', 'known,ann,uid,"system:masters"\n')
  write(folder, 'clusters.yaml', 'clusters:\n- {name: a, token-auth-file: tokens.csv}\n')
  const fleet = await startFleet(t, folder, {
    clusters: 'clusters.yaml',
    args: ['--etcd', endpoint, '--prefix', '/{cluster}', '--writable', '--auth', 'rbac'],
  })
  for (const selection of ['a', '*', 'nobody', 'a,nobody']) {
    const path = `/views/clusters/${selection}${maps}?watch=1`
    const page = new LivePage(t, fleet.port, path, { authorization: 'Bearer wrong' })
    await page.until(({ isOver }) => isOver)
    t.ok(page.documents.length > 0, selection)
    t.strictSame(page.rows, [])
    t.strictSame([...page.clusters], [])
  }
  const known = { authorization: 'Bearer known' }
  const path = `/views/clusters/a${maps}?watch=1`
  const pages = Array.from({ length: 8 }, () => new LivePage(t, fleet.port, path, known))
  for (const page of pages) await page.until(({ documents }) => documents.length > 0)
  const refused = await ask(fleet.port, { path, headers: known })
  t.equal(refused.status, 429)
  pages[0]?.close()
  let next = new LivePage(t, fleet.port, path, known)
  await next.until(({ documents, status }) => documents.length > 0 || status === 429)
  while (next.status === 429) {
    next = new LivePage(t, fleet.port, path, known)
    await next.until(({ documents, status }) => documents.length > 0 || status === 429)
  }
  t.equal(next.shown, 'a/one', 'a place is given back')
  for (const page of pages.slice(1)) page.close()
  for (const query of ['timeoutSeconds=0', 'after=x']) {
    let status = 429
    while (status === 429) {
      const asked = { path: `/views/clusters/a${maps}?watch=1&${query}`, headers: known }
      status = (await ask(fleet.port, asked)).status
    }
    t.equal(status, 400, query)
  }
  const sorted = new LivePage(t, fleet.port, `${path}&sort=namespace&columns=name`, known)
  await sorted.until(({ isOver }) => isOver)
  t.ok(sorted.status === 400 || sorted.documents.at(-1)?.type === 'ERROR')
  const ending = new LivePage(t, fleet.port, `${path}&timeoutSeconds=1`, known)
  await ending.until(({ isOver }) => isOver)
  t.ok(ending.isOver)
})
