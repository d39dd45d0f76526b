/** Identical reads that pass at the same time, over real sockets: who gets whose answer, and how
 *  often the upstream is asked. */

import { once } from 'node:events'
import * as http from 'node:http'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { ask, askOver2, type HttpAnswer } from '../../support/http/served.ts'
import { moment } from '../../support/http/moment.ts'
import type { DirectAnswer, SeenRequest } from '../../support/upstream/answers.ts'
import { originOf, type Proxied, startProxied } from '../../support/upstream/proxied.ts'

const adminListen = { protocol: 'http', host: '127.0.0.1', port: 0 } as const
/** Passes, since nobody knows the parameter. */
const path = '/api/v1/namespaces/default/configmaps?unknown=1'

interface World extends Proxied {
  /** Questions for `path`, in their order. */
  readonly questions: SeenRequest[]
  /** Resolves when so many reads are with the service, or some are answered: where a second passes
   *  between two of them, as on a busy machine, each is asked for itself. */
  readonly areIn: (reads: number, answers?: Promise<unknown>) => Promise<void>
  /** Lets the upstream answer. */
  readonly open: () => void
  readonly metric: (name: string) => Promise<number>
}

/** The upstream answers nothing at `path` before `open`. */
async function startHeld(
  t: Test,
  answerTo: (question: SeenRequest, number: number) => DirectAnswer,
): Promise<World> {
  const proxied = await startProxied(t, { service: { adminListen } })
  const questions: SeenRequest[] = []
  let open = (): void => {}
  const opened = new Promise<void>(resolve => (open = resolve))
  proxied.upstream.before = async seen => {
    if (seen.url !== path) return undefined
    const number = questions.push(seen)
    await opened
    return answerTo(seen, number)
  }
  const adminPort = Number(proxied.service.adminPort)
  const metric: World['metric'] = async name => {
    const { body } = await ask(adminPort, { path: '/metrics' })
    const line = body
      .toString()
      .split('\n')
      .find(text => text.startsWith(`${name} `))
    return Number(line?.split(' ').at(-1))
  }
  const areIn: World['areIn'] = async (reads, answers) => {
    let isAnswered = false
    void answers?.then(() => (isAnswered = true))
    while (!isAnswered && !((await metric('watchglass_requests_in_flight')) >= reads)) {
      await moment()
    }
  }
  return { ...proxied, questions, areIn, open, metric }
}

/** The header with which somebody identifies itself. */
function as(user: string): Record<string, string> {
  return { authorization: `Bearer ${user}` }
}

t.test('identical reads share an answer, byte for byte, over both protocols', async t => {
  const body = gzipSync(Buffer.from('x'.repeat(300_000)))
  const headers = { 'content-encoding': 'gzip', 'content-type': 'application/json' }
  const { port, questions, areIn, open, metric } = await startHeld(t, (_, number) => ({
    code: 200,
    headers: { ...headers, 'audit-id': `question-${number}` },
    body,
  }))
  const beganMs = performance.now()
  const first = ask(port, { path, headers: as('a') })
  while (questions.length === 0) await moment()
  const agent = new http.Agent()
  const others = Array.from({ length: 24 }, (_, i) =>
    i % 2 === 0
      ? ask(port, { path, headers: as('a') }, agent)
      : askOver2(port, { path, headers: as('a') }),
  )
  await areIn(25)
  open()
  const answers = [await first, ...(await Promise.all(others))]
  // Each second without an answer, an upstream is asked anew.
  const most = 2 + Math.floor((performance.now() - beganMs) / 1000)
  t.ok(questions.length >= 2 && questions.length <= most, `${questions.length} questions`)
  for (const { status, headers: got, body: sent } of answers) {
    t.equal(status, 200)
    t.match(got, headers)
    t.ok(sent.equals(body))
  }
  t.equal(originOf(answers[0]!), 'pass; reason=parameter')
  t.equal(answers[0]!.headers['audit-id'], 'question-1')
  for (const answer of answers.slice(1)) {
    t.match(answer.headers['x-watchglass'], /^pass; reason=parameter; collapsed=\d+$/)
    const id = answer.headers['audit-id']
    t.match(id, /^question-\d+$/, "the upstream's own record of it")
    t.not(id, 'question-1')
  }
  t.equal(await metric('watchglass_collapsed_reads_total'), 25 - questions.length)
})

t.test("nobody gets another one's answer", async t => {
  const identity = ({ headers }: SeenRequest): string =>
    JSON.stringify([headers.authorization, headers['impersonate-user'], headers.accept])
  const { port, areIn, open, metric } = await startHeld(t, seen => ({
    code: 200,
    body: identity(seen),
  }))
  const senders = ['a', 'b', undefined].flatMap(user =>
    [undefined, 'jane', 'joe'].flatMap(impersonated =>
      ['application/json', 'application/yaml'].map(accept => ({
        accept,
        ...(user === undefined ? {} : as(user)),
        ...(impersonated === undefined ? {} : { 'impersonate-user': impersonated }),
      })),
    ),
  )
  const agent = new http.Agent()
  const askAll = (): Promise<readonly [string, HttpAnswer]>[] =>
    senders.map(headers => {
      const expected = identity({ headers } as unknown as SeenRequest)
      return ask(port, { path, headers }, agent).then(answer => [expected, answer] as const)
    })
  const asked = [askAll(), askAll(), askAll()].flat()
  await areIn(asked.length)
  open()
  // Where a second passes between two of them, as on a busy machine, each is asked for itself.
  while ((await metric('watchglass_collapsed_reads_total')) === 0) {
    asked.push(...askAll(), ...askAll(), ...askAll())
    await moment()
  }
  for (const [expected, { body }] of await Promise.all(asked)) t.equal(body.toString(), expected)
})

t.test('a refusal of the upstream is told to each as it is', async t => {
  const { port, areIn, open } = await startHeld(t, () => ({
    code: 429,
    headers: { 'retry-after': '7', 'content-type': 'text/plain' },
    body: 'later',
  }))
  const agent = new http.Agent()
  const asked = Array.from({ length: 10 }, () => ask(port, { path }, agent))
  await areIn(10)
  open()
  for (const { status, headers, body } of await Promise.all(asked)) {
    t.equal(status, 429)
    t.match(headers, { 'retry-after': '7', 'content-type': 'text/plain' })
    t.equal(body.toString(), 'later')
  }
})

t.test('an answer that breaks off breaks off for each', async t => {
  const { port, upstream, areIn, open, questions } = await startHeld(t, () => ({
    code: 200,
    body: 'whole',
  }))
  const agent = new http.Agent()
  const first = ask(port, { path }, agent)
  while (questions.length === 0) await moment()
  upstream.fault = ({ url }) =>
    url === path ? { type: 'reset mid-body', bytes: 300_000 } : undefined
  const others = Array.from({ length: 10 }, () => ask(port, { path }, agent))
  const ended = Promise.allSettled(others)
  await areIn(11, ended)
  open()
  t.equal((await first).body.toString(), 'whole')
  for (const { status } of await ended) t.equal(status, 'rejected')
})

t.test('trailers follow the answer of each', async t => {
  const { port, upstream, areIn, questions } = await startHeld(t, () => ({ code: 200, body: '' }))
  const gone = http.get({ host: '127.0.0.1', port, path, agent: false })
  gone.on('error', () => {})
  while (questions.length === 0) await moment()
  upstream.fault = ({ url }) =>
    url === path
      ? {
          type: 'raw',
          bytes:
            'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 9\r\n\r\n',
        }
      : undefined
  const others = Array.from({ length: 4 }, async () => {
    const headers = { te: 'trailers' }
    const request = http.get({ host: '127.0.0.1', port, path, headers, agent: false })
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    const pieces: Buffer[] = []
    for await (const piece of response as AsyncIterable<Buffer>) pieces.push(piece)
    return { body: Buffer.concat(pieces).toString(), trailers: response.trailers }
  })
  const answers = Promise.all(others)
  await areIn(5, answers)
  gone.destroy()
  for (const told of await answers) {
    t.same(told, { body: 'hello', trailers: { 'x-sum': '9' } })
  }
})
