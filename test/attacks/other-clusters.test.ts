/** One cluster of a fleet that is broken, silent, hostile or restored is not felt in the others:
 *  their reads are answered and their watches go on while the other one's requests wait or fail. */

import * as http from 'node:http'
import { createServer, type Server, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { keyFromText } from '../../lib/base/keys.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import type { Client } from '../../lib/etcd/client.ts'
import { type EmbeddedEtcd, startEmbeddedEtcd } from '../../lib/etcd-server/embedded.ts'
import {
  startFleet,
  type StartedFleet,
  startSharedEtcd,
  temporaryFolder,
  write,
} from '../support/fleet/started-fleet.ts'
import { ask, type HttpAnswer } from '../support/http/served.ts'
import { freePort } from '../support/program/ports.ts'
import { silentLogger } from '../support/silent-logger.ts'

const maps = '/api/v1/namespaces/default/configmaps'

async function put(client: Client, name: string): Promise<void> {
  const metadata = { name, namespace: 'default', uid: name }
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata }
  const key = keyFromText(`/registry/configmaps/default/${name}`)
  const value = Buffer.from(JSON.stringify(object))
  await client.txn({ compares: [], success: [{ type: 'put', key, value }], failure: [] })
}

/** A watch whose events a test reads. */
class Watch {
  readonly #request: http.ClientRequest
  #text = ''
  #wake: () => void = () => {}
  isOver = false

  constructor(port: number, path: string) {
    this.#request = http.get({ host: '127.0.0.1', port, path }, response => {
      response.on('data', (bytes: Buffer) => {
        this.#text += bytes.toString()
        this.#wake()
      })
      response.on('close', () => {
        this.isOver = true
        this.#wake()
      })
    })
    this.#request.on('error', () => {})
  }

  /** Resolves when the text has come, or the watch is over. */
  async until(text: string): Promise<void> {
    while (!this.#text.includes(text) && !this.isOver) {
      await new Promise<void>(resolve => (this.#wake = resolve))
    }
  }

  close(): void {
    this.#request.destroy()
  }
}

interface Good {
  readonly fleet: StartedFleet
  readonly client: Client
}

/** A fleet of a good cluster and another one. */
async function fleetBeside(t: Test, other: string): Promise<Good> {
  const folder = temporaryFolder(t)
  const { endpoint, client } = await startSharedEtcd(t, await freePort())
  await put(client, 'first')
  write(
    folder,
    'clusters.yaml',
    `clusters:\n- {name: good, etcd: '${endpoint}'}\n- {name: other, ${other}}\n`,
  )
  return { fleet: await startFleet(t, folder, { clusters: 'clusters.yaml' }), client }
}

/** The good cluster is read and watched while `attack` runs, and while its requests are open. */
async function isUnharmed(
  t: Test,
  { fleet, client }: Good,
  attack: (asked: (path: string) => Promise<HttpAnswer>) => Promise<void>,
): Promise<void> {
  const good = (path: string): Promise<HttpAnswer> =>
    ask(fleet.port, { path: `/clusters/good${path}` })
  t.equal((await good(maps)).status, 200)
  const watch = new Watch(fleet.port, `/clusters/good${maps}?watch=1&resourceVersion=0`)
  await watch.until('"first"')
  const agent = new http.Agent({ keepAlive: true, maxSockets: 200 })
  const open = Array.from({ length: 100 }, () =>
    ask(fleet.port, { path: `/clusters/other${maps}` }, agent).catch(() => undefined),
  )
  for (let i = 0; i < 20; i++) {
    t.equal((await good(`${maps}/first`)).status, 200)
    t.equal((await good(`${maps}?limit=1`)).status, 200)
  }
  await attack(path => ask(fleet.port, { path: `/clusters/other${path}` }, agent))
  await put(client, 'second')
  await watch.until('"second"')
  t.equal(watch.isOver, false, 'the watch goes on')
  watch.close()
  t.equal((await good(maps)).status, 200)
  agent.destroy()
  await Promise.all(open)
  const list = await ask(fleet.adminPort, { path: '/clusters/good/readyz' })
  t.equal(list.status, 200)
}

t.test('a cluster whose files are broken', async t => {
  const beside = await fleetBeside(t, `etcd: 'https://127.0.0.1:1', etcd-cacert: missing.pem`)
  await isUnharmed(t, beside, async asked => {
    const answer = await asked(maps)
    t.equal(answer.status, 503)
    t.notMatch(answer.body.toString(), 'missing.pem')
    const { body } = await ask(beside.fleet.adminPort, { path: '/clusters' })
    t.match(body.toString(), 'missing.pem', 'operators see why')
    t.equal((await ask(beside.fleet.adminPort, { path: '/clusters/other/readyz' })).status, 500)
    t.equal((await ask(beside.fleet.port, { path: '/readyz' })).status, 200)
  })
})

t.test('a cluster whose etcd is not there', async t => {
  const beside = await fleetBeside(t, `etcd: 'http://127.0.0.1:${await freePort()}'`)
  await isUnharmed(t, beside, async () => {})
})

/** Accepts connections, and does what it likes with them. */
async function listen(t: Test, onSocket: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>()
  const server: Server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    onSocket(socket)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

t.test('a cluster whose etcd says nothing', async t => {
  const port = await listen(t, () => {})
  await isUnharmed(t, await fleetBeside(t, `etcd: 'http://127.0.0.1:${port}'`), async () => {})
})

t.test('a cluster whose API server says nothing', async t => {
  const port = await listen(t, () => {})
  const other = `upstream: 'http://127.0.0.1:${port}', auth: none`
  await isUnharmed(t, await fleetBeside(t, other), async () => {})
})

t.test('a cluster whose servers send anything', async t => {
  const port = await listen(t, socket => {
    const frames = Buffer.alloc(65_536, 'PRI * HTTP/2.0\r\n\0\xff')
    socket.on('data', () => socket.write(frames))
  })
  await isUnharmed(t, await fleetBeside(t, `etcd: 'http://127.0.0.1:${port}'`), async () => {})
  const upstream = `upstream: 'http://127.0.0.1:${port}', auth: none`
  await isUnharmed(t, await fleetBeside(t, upstream), async () => {})
})

t.test('a cluster whose etcd is restored', async t => {
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
  await put(etcd.createClient(), 'before')
  const beside = await fleetBeside(t, `etcd: 'http://127.0.0.1:${port}'`)
  await isUnharmed(t, beside, async asked => {
    t.match((await asked(maps)).body.toString(), '"before"')
    await etcd.close()
    etcd = await started()
    await put(etcd.createClient(), 'after')
    let text = ''
    while (!text.includes('"after"')) text = (await asked(maps)).body.toString()
    t.notMatch(text, '"before"')
  })
})
