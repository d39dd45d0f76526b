/** The program with two workers over a mirrored API server: what a thread answers is never older
 *  than what was written before it was asked, and a thread that dies comes back with everything. */

import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import t from 'tap'
import { createTestEngine } from '../support/etcd/test-engine.ts'
import { ask } from '../support/http/served.ts'
import { moment } from '../support/http/moment.ts'
import type { BirthMessage, DeathMessage } from '../support/program/mortal-thread.ts'
import { startProgram } from '../support/program/program.ts'
import { configMap } from '../support/upstream/proxied.ts'
import { lacksThreads } from '../support/runner/other-node.ts'
import { TestUpstream, upstreamReady } from '../support/upstream/upstream.ts'

const skip = lacksThreads()
const maps = '/api/v1/namespaces/default/configmaps'
const all = '/api/v1/configmaps'

interface World {
  readonly port: number
  readonly upstream: TestUpstream
  readonly threads: readonly number[]
  readonly send: (message: object) => void
}

async function start(): Promise<World> {
  const { client } = createTestEngine(t)
  const upstream = await TestUpstream.start({ client })
  t.teardown(() => upstream.stop())
  await upstreamReady(upstream)
  // A list of more than a hundred objects is not passed for being small.
  for (let i = 0; i < 150; i++) await upstream.create(maps, configMap(`m-${i}`, 'first'))
  const threads: number[] = []
  const args = [`--upstream=${upstream.url}`, '--auth=none', '--admin-listen=none', '--threads=2']
  const { port, send } = await startProgram(t, args, {
    module: new URL('../support/program/mortal-thread.js', import.meta.url),
    onMessage: message => threads.push((message as BirthMessage).born),
    onLog: () => {},
  })
  return { port, send, upstream, threads }
}

interface Listed {
  readonly origin: string
  readonly names: readonly string[]
}

const world = skip === false ? await start() : undefined

/** Lists on connections of their own, which the system spreads over the threads. */
function lists(count: number, query = ''): Promise<Listed[]> {
  return Promise.all(Array.from({ length: count }, () => listOnce(query)))
}

async function listOnce(query: string): Promise<Listed> {
  for (;;) {
    try {
      const { headers, body } = await ask(world!.port, { path: `${all}${query}` })
      const { items } = JSON.parse(body.toString()) as { items: { metadata: { name: string } }[] }
      const names = items.map(({ metadata }) => metadata.name)
      return { origin: String(headers['x-watchglass']), names }
    } catch (error) {
      // The threads have just died.
      if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') throw error
      await moment()
    }
  }
}

function isMirrored({ origin }: Listed): boolean {
  return origin.startsWith('mirror')
}

async function untilMirrored(): Promise<void> {
  while (!(await lists(12, '?resourceVersion=0')).every(isMirrored)) await moment()
}

t.test('each thread answers from its copy, as new as what was written', { skip }, async t => {
  await untilMirrored()
  let mirrored = 0
  for (let i = 0; i < 5; i++) {
    await world!.upstream.create(maps, configMap(`new-${i}`, 'second'))
    for (const listed of await lists(8)) {
      if (isMirrored(listed)) mirrored++
      t.ok(listed.names.includes(`new-${i}`), listed.origin)
    }
  }
  t.ok(mirrored > 20, `${mirrored} of 40 from copies`)
})

t.test('watches of all threads tell of everything, in order', { skip }, async t => {
  const watches = await Promise.all(Array.from({ length: 8 }, () => openWatch(world!.port)))
  t.teardown(() => watches.forEach(watch => watch.end()))
  const names = Array.from({ length: 20 }, (_, i) => `watched-${i}`)
  for (const name of names) await world!.upstream.create(maps, configMap(name, 'x'))
  for (const watch of watches) {
    while (watch.names.length < names.length) await moment()
    t.strictSame(watch.names, names)
  }
})

t.test('a thread that dies comes back with everything', { skip }, async t => {
  const { threads, send, upstream } = world!
  const watches = await Promise.all(Array.from({ length: 12 }, () => openWatch(world!.port)))
  for (const dies of threads.slice()) {
    const before = threads.length
    send({ dies } satisfies DeathMessage)
    while (threads.length === before) await moment()
  }
  while (watches.some(({ isOver }) => !isOver)) await moment()
  await upstream.create(maps, configMap('after', 'x'))
  await untilMirrored()
  for (const { names } of await lists(8)) t.ok(names.includes('after'))
  const watch = await openWatch(world!.port)
  await upstream.create(maps, configMap('afterwards', 'x'))
  while (!watch.names.includes('afterwards')) await moment()
  watch.end()
})

interface OpenWatch {
  /** The objects that it has told of. */
  readonly names: readonly string[]
  readonly isOver: boolean
  end(): void
}

/** A watch of what is new, on a connection of its own. */
async function openWatch(port: number): Promise<OpenWatch> {
  const { body } = await ask(port, { path: `${all}?limit=1` })
  const list = JSON.parse(body.toString()) as { metadata: { resourceVersion: string } }
  const path = `${all}?watch=true&resourceVersion=${list.metadata.resourceVersion}`
  const request = get({ host: '127.0.0.1', port, path, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const names: string[] = []
  let isOver = false
  let text = ''
  response.on('close', () => (isOver = true))
  response.on('error', () => {})
  response.on('data', (piece: Buffer) => {
    const lines = (text + piece.toString()).split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) {
      const { object } = JSON.parse(line) as { object: { metadata: { name: string } } }
      names.push(object.metadata.name)
    }
  })
  return {
    names,
    get isOver() {
      return isOver
    },
    end: () => void request.destroy(),
  }
}
