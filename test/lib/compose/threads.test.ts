/** The program with two face threads: what holds for the process, and not for each thread. */

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { ask } from '../../support/http/served.ts'
import { freePort } from '../../support/program/ports.ts'
import { startProgram } from '../../support/program/program.ts'
import { answerReview, bearer, identity } from '../../support/upstream/reviews.ts'

t.test('threads ask once who a caller is and what the caller may do', async t => {
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

t.test('faults on purpose are those of all threads together', async t => {
  const adminPort = await freePort()
  const { port } = await startProgram(t, [
    '--generate=pods=3',
    '--threads=2',
    `--admin-listen=http://127.0.0.1:${adminPort}`,
    '--fault=error,code=503,times=3',
  ])
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
})
