/** The program with two workers: what holds for the process, and not for each thread. */

import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { sleep } from '../../lib/base/clock.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { ask } from '../support/http/served.ts'
import { freePort } from '../support/program/ports.ts'
import type { BirthMessage, DeathMessage } from '../support/program/mortal-thread.ts'
import { startProgram } from '../support/program/program.ts'
import { answerReview, bearer, identity } from '../support/upstream/reviews.ts'
import { lacksThreads } from '../support/runner/other-node.ts'

const skip = lacksThreads()

t.test('threads ask once who a caller is and what the caller may do', { skip }, async t => {
  const users = new Map([['ann-token', identity('ann')]])
  const all = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] }
  const bindings = [{ subjects: ['ann'], namespace: '', rules: [all] }]
  const asked: string[] = []
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const { url = '', headers } = request
      asked.push(url)
      const who = bearer(users, headers.authorization)
      const answer = answerReview(url, Buffer.concat(pieces).toString(), who, bindings)
      response.writeHead(answer?.code ?? 404, { 'content-type': 'application/json' })
      response.end(answer?.body)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port: reviewPort } = server.address() as AddressInfo
  const { port } = await startProgram(t, [
    '--generate=pods=3',
    '--threads=2',
    '--auth=delegate',
    `--review-server=http://127.0.0.1:${reviewPort}`,
  ])
  const statuses = async (token: string): Promise<number[]> => {
    const headers = { authorization: `Bearer ${token}` }
    const lists = Array.from({ length: 12 }, () => ask(port, { path: '/api/v1/pods', headers }))
    return (await Promise.all(lists)).map(({ status }) => status)
  }
  t.same(new Set(await statuses('ann-token')), new Set([200]))
  t.equal(asked.filter(path => path.includes('accessreviews')).length, 1)
  t.same(new Set(await statuses('nobody-token')), new Set([401]))
})

const adminPort = await freePort()
const threads: number[] = []
let log = ''
const args = ['--generate=pods=3', '--threads=2', '--fault=error,code=503,times=3']
const start = (): ReturnType<typeof startProgram> =>
  startProgram(t, [...args, `--admin-listen=http://127.0.0.1:${adminPort}`], {
    module: new URL('../support/program/mortal-thread.js', import.meta.url),
    onMessage: message => threads.push((message as BirthMessage).born),
    onLog: text => (log += text),
  })
const { port, send } = skip === false ? await start() : { port: 0, send: () => {} }

t.test('faults on purpose are those of all threads together', { skip }, async t => {
  const answers = async (): Promise<number[]> => {
    const lists = Array.from({ length: 12 }, () => ask(port, { path: '/api/v1/pods' }))
    return (await Promise.all(lists)).map(({ status }) => status)
  }
  const met = async (): Promise<unknown> => {
    const { body } = await ask(adminPort, { path: '/faults' })
    return JSON.parse(body.toString())
  }
  const first = (await answers()).filter(status => status === 503).length
  t.ok(first >= 3 && first <= 4, 'two threads may meet a rule at the same moment')
  t.same(await met(), { faults: [{ rule: 'error,code=503,times=3', met: first }] })
  t.same(new Set(await answers()), new Set([200]))
  const body = 'error,code=429'
  const replaced = await ask(adminPort, { method: 'PUT', path: '/faults', body })
  t.equal(replaced.status, 200)
  t.same(new Set(await answers()), new Set([429]))
  const { body: metrics } = await ask(adminPort, { path: '/metrics' })
  const line = /^watchglass_injected_faults_total\{fault="error"\} (\d+)$/m.exec(metrics.toString())
  t.equal(Number(line?.[1]), first + 12)
  const none = await ask(adminPort, { method: 'PUT', path: '/faults', body: '' })
  t.same(JSON.parse(none.body.toString()), { faults: [] })
  t.same(new Set(await answers()), new Set([200]))
})

t.test(
  'a thread that dies is logged, its watches end, and another takes its place',
  { skip },
  async t => {
    t.equal(threads.length, 2)
    const watches = await Promise.all(Array.from({ length: 16 }, () => openWatch(port)))
    t.teardown(() => watches.forEach(watch => watch.end()))
    send({ dies: threads[0]! } satisfies DeathMessage)
    while (threads.length < 3) {
      t.equal((await ask(adminPort, { path: '/readyz' })).status, 200)
      await sleep(systemClock, 20)
    }
    const ended = watches.filter(({ isOver }) => isOver).length
    t.ok(ended > 0 && ended < 16, `${ended} of 16 watches were the dead thread's`)
    t.match(log, /a worker has died.*the test wants this thread to die/)
    send({ dies: threads[1]! } satisfies DeathMessage)
    while (watches.some(({ isOver }) => !isOver)) await sleep(systemClock, 20)
    const { status, body } = await askOnceListening('/api/v1/pods')
    t.equal(status, 200)
    t.equal((JSON.parse(body.toString()) as { items: unknown[] }).items.length, 3)
  },
)

/** Both threads were killed, and the new ones may not listen yet. */
async function askOnceListening(path: string): ReturnType<typeof ask> {
  for (;;) {
    try {
      return await ask(port, { path })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') throw error
      await sleep(systemClock, 20)
    }
  }
}

/** A watch on a connection of its own, and whether it has ended. */
async function openWatch(port: number): Promise<{ readonly isOver: boolean; end(): void }> {
  const request = get({ host: '127.0.0.1', port, path: '/api/v1/pods?watch=true', agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let isOver = false
  response.on('close', () => (isOver = true))
  response.on('error', () => {})
  response.resume()
  return {
    get isOver() {
      return isOver
    },
    end: () => void request.destroy(),
  }
}
