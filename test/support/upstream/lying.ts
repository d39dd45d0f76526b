/** An upstream that tells the truth, but for what a test has it say. */

import * as http from 'node:http'
import type { Test } from 'tap'
import type { Logger } from '../../../lib/base/logger.ts'
import { ask, type HttpAnswer } from '../http/served.ts'
import { silentLogger } from '../silent-logger.ts'
import type { SeenRequest } from './answers.ts'
import { originOf, type Proxied, startProxied } from './proxied.ts'
import { moment } from '../http/moment.ts'

export type Lie = (body: string, request: SeenRequest) => string

export interface Lying extends Proxied {
  /** Lie: the change that the upstream makes to what it would say. */
  lie: Lie
  readonly logged: string[]
}

export async function startLying(
  t: Test,
  objects: readonly (readonly [string, unknown])[],
  lie: Lie,
): Promise<Lying> {
  const logged: string[] = []
  const logger: Logger = {
    ...silentLogger,
    error: (message, fields) => logged.push(JSON.stringify([message, fields])),
  }
  let lying: Lying | undefined = undefined as Lying | undefined
  const agent = new http.Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const proxied = await startProxied(t, {
    objects,
    service: { logger, adminListen: { protocol: 'http', host: '127.0.0.1', port: 0 } },
    upstream: {
      before: async request => {
        const isRead = request.method === 'GET' && !request.url.includes('watch=')
        if (!isRead || lying === undefined) return undefined
        const { accept } = request.headers
        const asked = { path: request.url, headers: accept === undefined ? {} : { accept } }
        // It may have stopped, as the test has.
        const answer = await ask(lying.upstream.service.port, asked, agent).catch(() => undefined)
        if (answer === undefined) return { code: 503, body: '' }
        const text = answer.body.toString('latin1')
        const body = Buffer.from(lying.lie(text, request), 'latin1')
        const { 'content-length': _, 'transfer-encoding': __, ...headers } = answer.headers
        return { code: answer.status, headers, body }
      },
    },
  })
  lying = { ...proxied, lie, logged }
  return lying
}

/** Asks until the answer is from there. */
export async function until(
  { get }: Proxied,
  path: string,
  origin: string,
  headers: Record<string, string> = {},
): Promise<HttpAnswer> {
  for (;;) {
    const answer = await get(path, headers)
    if (originOf(answer).startsWith(origin)) return answer
    await moment()
  }
}
