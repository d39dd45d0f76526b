/** Requests that no client should send: each gets a well-formed answer, and the server goes on. */

import assert from 'node:assert/strict'
import * as http from 'node:http'
import * as net from 'node:net'
import t from 'tap'
import { createRandom, type Random, randomInt, randomItem } from '../../../../lib/base/random.ts'
import { defaultLimits } from '../../../../lib/cache/mirror/limits.ts'
import { HistoryWriter } from '../../../golden/replay.ts'
import { exchanges } from '../../../golden/load.ts'
import { ask, caughtUp, type HttpAnswer, startServed } from '../../../support/http/served.ts'
import { effort } from '../../../support/effort.ts'
import { patient } from '../../../support/patience.ts'

t.setTimeout(patient(240_000))

const requests = 1_200 * effort
const inFlight = 128

const paths = exchanges()
  .filter(({ request, area }) => area !== 'write' && request.method === 'GET')
  .map(({ request }) => request.path)

const words: readonly string[] = (
  '= == != ! , ( ) %5C %20 / . .. %2F %00 %zz % ; in notin metadata.name spec.nodeName app < & ? # %F0%9F%98%80 %ff ' +
  '0 -1 1 534 9007199254740993 18446744073709551616 1e3 Exact true watch limit= continue= resourceVersion= ' +
  'resourceVersionMatch= labelSelector= fieldSelector= timeout= timeoutSeconds= includeObject= pretty= __proto__ ' +
  'eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiIuLi8uLi9zZWNyZXRzIn0 {"v": as=Table constructor'
).split(' ')

const types = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  '*/*',
  'text/html',
  'a',
  '',
]
const typeParts = [
  ';as=Table',
  ';v=v1',
  ';g=meta.k8s.io',
  ';q=0.1',
  ';q=',
  ';stream=watch',
  ',',
  ';',
  ';as=PartialObjectMetadataList',
  '=',
  ' ',
]

/** A recorded target with some of it replaced by something else. */
function target(random: Random): string {
  let path = randomItem(random, paths)
  for (let i = randomInt(random, 1, 3); i > 0; i--) {
    // Mostly in the query: a path that is none ends the matter early.
    const query = random.next() < 0.8 ? path.indexOf('?') + 1 : 1
    const from = randomInt(random, Math.max(1, query), path.length)
    const to = Math.min(path.length, from + randomInt(random, 0, 6))
    const with_ = Array.from({ length: randomInt(random, 0, 3) }, () => randomItem(random, words))
    path = path.slice(0, from) + with_.join('') + path.slice(to)
  }
  return path
}

function headers(random: Random): Record<string, string> {
  const accept = Array.from({ length: randomInt(random, 0, 4) }, (_, i) =>
    randomItem(random, i % 2 === 0 ? types : typeParts),
  ).join('')
  const all: Record<string, string> = accept === '' ? {} : { accept }
  if (random.next() < 0.2) {
    all['accept-encoding'] = randomItem(random, ['gzip', 'br', ',', 'gzip;q=0'])
  }
  if (random.next() < 0.1) all['user-agent'] = randomItem(random, ['curl/8', 'Mozilla/5.0', ''])
  if (random.next() < 0.1) all['impersonate-user'] = 'x'
  return all
}

/** Methods that Node's client sends without a body. */
const methods = [
  'GET',
  'GET',
  'GET',
  'GET',
  'GET',
  'GET',
  'HEAD',
  'OPTIONS',
  'DELETE',
  'POST',
  'PUT',
  'PATCH',
]

function checkAnswer(method: string, { status, headers: got, body }: HttpAnswer): void {
  assert.ok(status >= 200 && status < 600)
  const type = got['content-type'] ?? ''
  if (status === 500) {
    // What package storage cannot parse, and a watch of nothing, are recorded as a 500 of
    // kube-apiserver.
    assert.match(body.toString(), /strconv|invalid resource version|ParseUint|RequestInfo/)
  } else if (status > 500) assert.ok(status === 504 || status === 503, `status ${status}`)
  if (status < 400 || method === 'HEAD') return
  if (type === 'application/json') {
    const said = JSON.parse(body.toString()) as { kind?: string; code?: number }
    assert.equal(said.kind, 'Status')
    assert.equal(said.code, status)
  } else if (type === 'application/yaml') assert.match(body.toString(), /^kind: Status$/m)
  else if (type.includes('protobuf')) assert.match(body.toString('latin1'), /^k8s\0[^]*Status/)
  else assert.match(type, /^text\/plain; charset=utf-8$/)
}

t.test('malformed requests are answered in form', async t => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 2 ** 32)
  t.comment(`seed ${seed}`)
  const random = createRandom(seed)
  const limits = { ...defaultLimits, readWaitMaxMs: 5 }
  const served = await startServed(t, { limits })
  await new HistoryWriter(served.client).writeUpTo(700)
  await caughtUp(served, 700)
  const { port } = served.service
  const agent = new http.Agent({ keepAlive: true, maxSockets: inFlight })
  t.teardown(() => agent.destroy())
  const statuses = new Map<number, number>()
  let left = requests
  const work = async (): Promise<void> => {
    while (left-- > 0) {
      const path = target(random)
      const request = {
        method: randomItem(random, methods),
        path,
        headers: headers(random),
        leavesEarly: path.includes('watch'),
      }
      try {
        const answer = await ask(port, request, agent)
        checkAnswer(request.method, answer)
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
      } catch (error) {
        throw new Error(`seed ${seed}: ${JSON.stringify(request)}`, { cause: error })
      }
    }
  }
  await Promise.all(Array.from({ length: inFlight }, work))
  t.comment(
    [...statuses]
      .sort(([a], [b]) => a - b)
      .map(([status, count]) => `${status} x${count}`)
      .join(' '),
  )
  t.ok((statuses.get(400) ?? 0) > requests / 40)
  t.equal((await ask(port, { path: '/livez' })).body.toString(), 'ok')
})

t.test('bytes that are no HTTP are answered and closed', async t => {
  const served = await startServed(t)
  const random = createRandom(7)
  for (let i = 0; i < 100; i++) {
    const lines = [
      `${randomItem(random, ['GET', 'get', 'G\0T', '', 'PRI', 'FOO'])} ${randomItem(random, ['/', '/api', '*', '', '\u00ff'])} HTTP/${randomItem(random, ['1.1', '1.0', '3', ''])}`,
      ...Array.from({ length: randomInt(random, 0, 3) }, () =>
        randomItem(random, [
          'Host: a',
          'Host',
          ': x',
          'Content-Length: -1',
          'Transfer-Encoding: x',
          'A: \u0001',
          ' b: c',
        ]),
      ),
    ]
    const socket = net.connect(served.service.port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.resume()
    const closed = new Promise(resolve => socket.once('close', resolve))
    socket.end(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'))
    await closed
  }
  t.equal((await ask(served.service.port, { path: '/livez' })).status, 200)
})
